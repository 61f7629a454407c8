#include "orderd/activity_apply.h"

#include <inttypes.h>
#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/fault.h"

static const struct {
    const char *name, *what;
} faults[SHARD_FAULT_COUNT] = {
    {"", "is as it should be"},
#define X(fault, name, what) {name, what},
#include "orderd/tbl/shard_fault.h"
#undef X
};

const char *shard_fault_name(enum shard_fault fault)
{
    return faults[fault].name;
}

const char *shard_fault_what(enum shard_fault fault)
{
    return faults[fault].what;
}

enum shard_fault shard_fault_of(const struct activity *a, const struct stock_audit *s)
{
    if (s->code == STOCK_AUDIT_NO_SHARD)
        return SHARD_MISSING;
    if (s->code != STOCK_AUDIT_PRESENT)
        return SHARD_DAMAGED;
    if (s->epoch != a->epoch)
        return SHARD_OTHER_EPOCH;
    if (s->starts_at != a->starts_at || s->ends_at != a->ends_at)
        return SHARD_OTHER_WINDOW;
    return s->paused ? SHARD_PAUSED : SHARD_FINE;
}

static bool read_all(struct kv *kv, const struct activity *a, struct stock_audit *audits, struct error *err)
{
    struct error *errs = check_calloc((size_t)a->shards, sizeof *errs);
    bool ok = stock_audit_many(kv, a->id, a->shards, audits, errs, err);

    for (int32_t i = 0; i < a->shards && ok; i++) {
        if (errs[i].code == ERROR_KV_DATA)
            audits[i] = (struct stock_audit){.code = STOCK_AUDIT_DAMAGED}; /* a key of a foreign type, for instance */
        else if (errs[i].code != ERROR_NONE)
            *err = errs[i];
        ok = errs[i].code == ERROR_NONE || errs[i].code == ERROR_KV_DATA;
    }
    free(errs);
    return ok;
}

bool activity_look(struct kv *kv, const struct activity *a, struct stock_audit *audits, struct activity_look *out,
                   struct error *err)
{
    *out = (struct activity_look){0};
    for (int i = 0; i < SHARD_FAULT_COUNT; i++)
        out->first[i] = -1;
    if (!read_all(kv, a, audits, err))
        return error_prefix(err, "looking at the shards of activity %" PRId64, a->id);
    for (int32_t i = 0; i < a->shards; i++) {
        enum shard_fault fault = shard_fault_of(a, &audits[i]);

        out->faults[fault]++;
        out->first[fault] = out->first[fault] < 0 ? i : out->first[fault];
        out->cap += audits[i].cap;
        out->transfer += audits[i].out;
        out->redis_now = audits[i].now > out->redis_now ? audits[i].now : out->redis_now;
    }
    return true;
}

bool activity_look_whole(const struct activity *a, const struct activity_look *look, struct error *err)
{
    static const enum shard_fault bad[] = {SHARD_MISSING, SHARD_DAMAGED, SHARD_OTHER_EPOCH};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (look->faults[bad[i]] > 0)
            return error_set(err, ERROR_REFUSED,
                             "shard %" PRId32 " of activity %" PRId64 " %s; `orderctl activity rebuild %" PRId64
                             "` makes it anew from the database",
                             look->first[bad[i]], a->id, shard_fault_what(bad[i]), a->id);
    }
    return true;
}

/* ---- apply ---- */

static void note_answer(struct activity_applied *out, int32_t shard, const struct stock_extended *answer)
{
    enum shard_fault fault;

    switch (answer->code) {
    case STOCK_EXTEND_EXTENDED:
        out->changed++;
        return;
    case STOCK_EXTEND_ALREADY:
        return;
    case STOCK_EXTEND_NO_SHARD:
        fault = SHARD_MISSING;
        break;
    case STOCK_EXTEND_OTHER_EPOCH:
        fault = SHARD_OTHER_EPOCH;
        break;
    default:
        fault = SHARD_DAMAGED;
    }
    out->faults[fault]++;
    out->first_fault = out->first_fault < 0 ? shard : out->first_fault;
}

/* One at a time: however many shards there are, none waits long behind another call of the sale. */
static bool apply_shard(struct kv *kv, const struct activity *a, int32_t shard, struct activity_applied *out,
                        struct error *err)
{
    struct stock_extended answer;
    struct stock_plan plan;

    activity_plan(a, shard, &plan);
    if (!stock_extend(kv,
                      &(struct stock_extend){.activity = a->id,
                                             .shard = shard,
                                             .starts_at = a->starts_at,
                                             .ends_at = a->ends_at,
                                             .expire_at = plan.expire_at,
                                             .epoch = a->epoch},
                      &answer, err)) {
        if (err->code != ERROR_KV_DATA)
            return false;
        error_clear(err);
        answer.code = STOCK_EXTEND_DAMAGED;
    }
    note_answer(out, shard, &answer);
    FAULT(ACTIVITY_AFTER_SHARD);
    return true;
}

struct stock_announcement activity_announcement(const struct activity *a)
{
    return (struct stock_announcement){.activity = a->id,
                                       .state = activity_state_name(a->state),
                                       .starts_at = a->starts_at,
                                       .ends_at = a->ends_at,
                                       .epoch = a->epoch,
                                       .shards = a->shards};
}

bool activity_apply(struct kv *kv, const struct activity *a, struct activity_applied *out, struct error *err)
{
    struct stock_announcement announcement = activity_announcement(a);

    *out = (struct activity_applied){.first_fault = -1};
    for (int32_t i = 0; i < a->shards; i++) {
        if (!apply_shard(kv, a, i, out, err))
            return error_prefix(err, "shard %" PRId32 " of activity %" PRId64, i, a->id);
    }
    if (!stock_announce(kv, &announcement, &out->announced, err))
        return error_prefix(err, "announcing activity %" PRId64, a->id);
    return true;
}
