#include "orderd/survey.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "orderd/check.h"

static const char *const dependencies[] = {
#define X(dependency, name) [SURVEY_##dependency] = name,
#include "orderd/tbl/survey_dependency.h"
#undef X
};

const char *survey_dependency_name(enum survey_dependency dependency)
{
    CHECK(dependency < SURVEY_DEPENDENCY_COUNT);
    return dependencies[dependency];
}

void survey_init(struct survey *s)
{
    memset(s, 0, sizeof *s);
    s->replicas_at = s->p50_us = s->p99_us = s->backlog = SURVEY_UNKNOWN;
    s->relay_pending = s->relay_quarantined = s->relay_oldest_ms = s->dead_queue = s->dead_open = SURVEY_UNKNOWN;
    s->drain_s = NAN;
    for (int i = 0; i < REPLICA_COUNT_COUNT; i++)
        s->rates[i] = NAN;
}

void survey_activity_init(struct survey_activity *out, const struct activity *a)
{
    *out = (struct survey_activity){
        .id = a->id,
        .starts_at = a->starts_at,
        .ends_at = a->ends_at,
        .total = a->total_stock,
        .state = a->state,
        .left = SURVEY_UNKNOWN,
        .held = SURVEY_UNKNOWN,
        .sold = SURVEY_UNKNOWN,
        .gone = SURVEY_UNKNOWN,
        .rate = NAN,
        .sold_out_s = NAN,
        .held_unpaid = SURVEY_UNKNOWN,
        .due_soon = SURVEY_UNKNOWN,
        .overdue = SURVEY_UNKNOWN,
        .paid = SURVEY_UNKNOWN,
        .closed = SURVEY_UNKNOWN,
        .counted_at = SURVEY_UNKNOWN,
        .shard_count = a->shards,
        .shard_missing = SURVEY_UNKNOWN,
        .shard_damaged = SURVEY_UNKNOWN,
        .shard_paused = SURVEY_UNKNOWN,
        .shard_empty = SURVEY_UNKNOWN,
        .shard_left_least = SURVEY_UNKNOWN,
        .shard_left_most = SURVEY_UNKNOWN,
        .redis_off = SURVEY_UNKNOWN,
        .available = SURVEY_UNKNOWN,
        .live = SURVEY_UNKNOWN,
        .mysql_off = SURVEY_UNKNOWN,
        .in_flight = SURVEY_UNKNOWN,
        .drift = SURVEY_UNKNOWN,
        .reconcile_at = SURVEY_UNKNOWN,
        .reconcile_verdict = -1,
    };
    snprintf(out->title, sizeof out->title, "%s", a->title);
}

double survey_drain_s(int64_t messages, double rate)
{
    if (messages == 0)
        return 0;
    return messages > 0 && rate > 0 ? (double)messages / rate : NAN;
}
