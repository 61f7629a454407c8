/* The whole sale on /metrics: the same numbers from every replica, so that rules take the max over them. What is not
 * known now is NaN, which no rule compares with anything. Activities that are settled have no series any more, and
 * there are at most SURVEY_ACTIVITIES_MAX. */
#include "metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/reason.h"
#include "orderd/survey_board.h"

static void add_value(struct strbuf *out, int64_t n)
{
    if (n == SURVEY_UNKNOWN)
        strbuf_add_str(out, " NaN\n");
    else
        strbuf_addf(out, " %" PRId64 "\n", n);
}

static void add_real(struct strbuf *out, double x)
{
    if (isfinite(x))
        strbuf_addf(out, " %.3f\n", x);
    else
        strbuf_add_str(out, " NaN\n");
}

static double seconds_of(int64_t ms)
{
    return ms == SURVEY_UNKNOWN ? NAN : (double)ms / 1000;
}

static void add_gauge(struct strbuf *out, const char *name, const char *help, int64_t n)
{
    metrics_head(out, name, "gauge", help);
    strbuf_add_str(out, name);
    add_value(out, n);
}

/* A label's value: what our tables and queues are called needs no escapes, but a foreign name might. */
static void add_label(struct strbuf *out, const char *name, const char *label, const char *value)
{
    strbuf_addf(out, "%s{%s=\"", name, label);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            strbuf_add_char(out, '\\');
        strbuf_add_char(out, *value == '\n' ? ' ' : *value);
    }
    strbuf_add_str(out, "\"}");
}

/* ---- activities ---- */

/* A buyer who comes now should be served. */
static bool on_sale(const struct survey_activity *a, int64_t now)
{
    return a->state == ACTIVITY_RUNNING || (a->state == ACTIVITY_SCHEDULED && a->starts_at <= now && now < a->ends_at);
}

#define G(name, member, help)                                                                                          \
    {                                                                                                                  \
        PREFIX name, help, offsetof(struct survey_activity, member)                                                    \
    }
static const struct {
    const char *name, *help;
    size_t offset;
} activity_gauges[] = {
    G("activity_stock_units", total, "Units that an activity sells in all."),
    G("activity_stock_left_units", left, "Units for sale in Redis."),
    G("activity_stock_available_units", available, "Units in MySQL that are in no live order."),
    G("activity_live_units", live, "Units in pending and paid orders in MySQL."),
    G("activity_orders_due_soon", due_soon, "Pending orders whose time to pay ends within 5 minutes."),
    G("activity_orders_overdue", overdue, "Pending orders whose time to pay is over."),
    G("activity_drift_units", drift, "Units that Redis and MySQL disagree about beyond what is in flight, or lost."),
    G("activity_redis_off_units", redis_off, "Units missing in Redis; below 0: too many."),
    G("activity_mysql_off_units", mysql_off, "Units missing in MySQL; below 0: too many."),
    G("activity_in_flight_units", in_flight, "Units on their way between Redis and MySQL."),
    G("activity_missing_shards", shard_missing, "Shards that are not in Redis, whether they should be by now or not."),
    G("activity_damaged_shards", shard_damaged, "Shards that are damaged or of another epoch."),
    G("activity_paused_shards", shard_paused, "Shards that are paused."),
    G("activity_empty_shards", shard_empty, "Shards with nothing left: their buyers are told that it is sold out."),
    G("activity_shard_left_least_units", shard_left_least, "Units left in the shard that has the fewest."),
    G("activity_shard_left_most_units", shard_left_most, "Units left in the shard that has the most."),
};
#undef G

static void add_activity(struct strbuf *out, const char *name, const struct survey_activity *a)
{
    strbuf_addf(out, "%s{activity=\"%" PRId64 "\"}", name, a->id);
}

static void add_plain_gauges(struct strbuf *out, const struct survey *s)
{
    for (size_t g = 0; g < sizeof activity_gauges / sizeof *activity_gauges; g++) {
        metrics_head(out, activity_gauges[g].name, "gauge", activity_gauges[g].help);
        for (size_t i = 0; i < s->activity_count; i++) {
            int64_t n;

            memcpy(&n, (const char *)&s->activities[i] + activity_gauges[g].offset, sizeof n);
            add_activity(out, activity_gauges[g].name, &s->activities[i]);
            add_value(out, n);
        }
    }
}

static void add_on_sale(struct strbuf *out, const struct survey *s)
{
    int64_t now = clock_wall_ms();

    metrics_head(out, PREFIX "activity_on_sale", "gauge", "1 while buyers should be served.");
    for (size_t i = 0; i < s->activity_count; i++) {
        add_activity(out, PREFIX "activity_on_sale", &s->activities[i]);
        add_value(out, on_sale(&s->activities[i], now));
    }
    metrics_head(out, PREFIX "activity_not_preheated_shards", "gauge",
                 "Shards of an activity on sale that are not in Redis: each answers -1 to all of its buyers.");
    for (size_t i = 0; i < s->activity_count; i++) {
        add_activity(out, PREFIX "activity_not_preheated_shards", &s->activities[i]);
        add_value(out, on_sale(&s->activities[i], now) ? s->activities[i].shard_missing : 0);
    }
}

static void add_orders(struct strbuf *out, const struct survey *s)
{
    metrics_head(out, PREFIX "activity_orders", "gauge", "Orders by status; pending ones hold units and are not paid.");
    for (size_t i = 0; i < s->activity_count; i++) {
        const struct survey_activity *a = &s->activities[i];
        const struct {
            const char *status;
            int64_t n;
        } counts[] = {{"pending", a->held_unpaid}, {"paid", a->paid}, {"closed", a->closed}};

        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            strbuf_addf(out, PREFIX "activity_orders{activity=\"%" PRId64 "\",status=\"%s\"}", a->id, counts[c].status);
            add_value(out, counts[c].n);
        }
    }
}

static void add_reconcile(struct strbuf *out, const struct survey *s)
{
    metrics_head(out, PREFIX "activity_reconcile_timestamp_seconds", "gauge",
                 "When an activity was last reconciled to the end, since 1970.");
    for (size_t i = 0; i < s->activity_count; i++) {
        add_activity(out, PREFIX "activity_reconcile_timestamp_seconds", &s->activities[i]);
        add_real(out, seconds_of(s->activities[i].reconcile_at));
    }
    metrics_head(out, PREFIX "activity_reconcile_verdict", "gauge", "1 for what that reconciliation said.");
    for (size_t i = 0; i < s->activity_count; i++) {
        const struct survey_activity *a = &s->activities[i];

        for (int v = BALANCE_CLEAN; v <= BALANCE_BROKEN; v++) {
            strbuf_addf(out, PREFIX "activity_reconcile_verdict{activity=\"%" PRId64 "\",verdict=\"%s\"}", a->id,
                        balance_verdict_name((enum balance_verdict)v));
            add_value(out, a->counted_at == SURVEY_UNKNOWN ? SURVEY_UNKNOWN : a->reconcile_verdict == v);
        }
    }
}

/* ---- messages ---- */

static void add_queues(struct strbuf *out, const struct survey *s)
{
    metrics_head(out, PREFIX "queue_messages", "gauge", "Messages ready in a queue.");
    for (size_t i = 0; i < s->queue_count; i++) {
        add_label(out, PREFIX "queue_messages", "queue", s->queues[i].name);
        add_value(out, s->queues[i].ready);
    }
    metrics_head(out, PREFIX "queue_consumers", "gauge", "Consumers of a queue.");
    for (size_t i = 0; i < s->queue_count; i++) {
        add_label(out, PREFIX "queue_consumers", "queue", s->queues[i].name);
        add_value(out, s->queues[i].consumers);
    }
    add_gauge(out, PREFIX "backlog_messages", "Orders that wait in the work queue and the retry queues.", s->backlog);
    metrics_head(out, PREFIX "backlog_drain_seconds", "gauge",
                 "How long the backlog takes at the rate at which messages are finished now.");
    strbuf_add_str(out, PREFIX "backlog_drain_seconds");
    add_real(out, s->drain_s);
}

static bool kills(enum reason reason)
{
    enum reason_what what = reason_what(reason);

    return what == REASON_WHAT_DEAD || what == REASON_WHAT_RETRY || what == REASON_WHAT_TERMINAL;
}

static const struct survey_reason *find_reason(const struct survey *s, const char *name)
{
    for (size_t i = 0; i < s->reason_count; i++) {
        if (strcmp(s->reasons[i].reason, name) == 0)
            return &s->reasons[i];
    }
    return NULL;
}

static void add_open(struct strbuf *out, const char *reason, int64_t open)
{
    add_label(out, PREFIX "dead_letters_open", "reason", reason);
    add_value(out, open);
}

/* Our own reasons always, so that each begins at 0; all others, which anybody may have written there, together. */
static void add_dead_letters(struct strbuf *out, const struct survey *s)
{
    int64_t others = s->dead_open;

    metrics_head(out, PREFIX "dead_letters_open", "gauge", "Dead letters in the table that wait for somebody to act.");
    for (int r = REASON_NONE + 1; r < REASON_COUNT; r++) {
        const struct survey_reason *found = find_reason(s, reason_name((enum reason)r));
        int64_t open = found ? found->open : 0;

        if (!kills((enum reason)r) && !found)
            continue;
        add_open(out, reason_name((enum reason)r), s->dead_open == SURVEY_UNKNOWN ? SURVEY_UNKNOWN : open);
        if (others != SURVEY_UNKNOWN)
            others -= open;
    }
    add_open(out, "other", others);
}

static void add_relay(struct strbuf *out, const struct survey *s)
{
    metrics_head(out, PREFIX "relay_messages", "gauge",
                 "Local messages of all replicas, by state; counted up to 100000.");
    strbuf_add_str(out, PREFIX "relay_messages{state=\"pending\"}");
    add_value(out, s->relay_pending);
    strbuf_add_str(out, PREFIX "relay_messages{state=\"quarantined\"}");
    add_value(out, s->relay_quarantined);
}

/* ---- who is there ---- */

static void add_replicas(struct strbuf *out, const struct survey *s)
{
    int64_t counts[REPLICA_STATE_COUNT] = {0};

    for (size_t i = 0; i < s->replica_count; i++)
        counts[s->replicas[i].state]++;
    metrics_head(out, PREFIX "replicas", "gauge", "Replicas of the whole fleet by state.");
    for (int state = 0; state < REPLICA_STATE_COUNT; state++) {
        add_label(out, PREFIX "replicas", "state", replica_state_name((enum replica_state)state));
        add_value(out, s->replicas_at == SURVEY_UNKNOWN ? SURVEY_UNKNOWN : counts[state]);
    }
}

static void add_dependencies(struct strbuf *out, const struct survey *s)
{
    metrics_head(out, PREFIX "dependency_up", "gauge", "1 while a server answers the survey.");
    for (int i = 0; i < SURVEY_DEPENDENCY_COUNT; i++) {
        add_label(out, PREFIX "dependency_up", "dependency", survey_dependency_name((enum survey_dependency)i));
        add_value(out, s->dependencies[i].known ? s->dependencies[i].up : SURVEY_UNKNOWN);
    }
}

void metrics_sale(struct strbuf *out, const struct admin_view *view)
{
    struct survey *s = check_malloc(sizeof *s);

    survey_board_get(view->board, s);
    metrics_head(out, PREFIX "survey_timestamp_seconds", "gauge",
                 "When the sale was surveyed last, since 1970; 0: not yet.");
    strbuf_add_str(out, PREFIX "survey_timestamp_seconds");
    add_real(out, seconds_of(s->at));
    add_plain_gauges(out, s);
    add_on_sale(out, s);
    add_orders(out, s);
    add_reconcile(out, s);
    add_gauge(out, PREFIX "activities_left_out", "Unsettled activities that have no series, since there are too many.",
              s->activities_left_out);
    add_queues(out, s);
    add_dead_letters(out, s);
    add_relay(out, s);
    add_replicas(out, s);
    add_dependencies(out, s);
    free(s);
}
