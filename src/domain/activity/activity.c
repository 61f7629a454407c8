#include "orderd/activity.h"

#include <string.h>

#include "orderd/check.h"
#include "orderd/strbuf.h"

static const struct {
    const char *name;
    unsigned next;
} states[] = {
#define X(state, name, next) [ACTIVITY_##state] = {name, next},
#include "orderd/tbl/activity_state.h"
#undef X
};

const char *activity_state_name(enum activity_state state)
{
    CHECK(state < ACTIVITY_STATE_COUNT);
    return states[state].name;
}

bool activity_state_of_name(struct slice name, enum activity_state *out)
{
    for (int i = 0; i < ACTIVITY_STATE_COUNT; i++) {
        if (slice_is(name, states[i].name)) {
            *out = (enum activity_state)i;
            return true;
        }
    }
    return false;
}

bool activity_state_may_follow(enum activity_state from, enum activity_state to)
{
    CHECK(from < ACTIVITY_STATE_COUNT && to < ACTIVITY_STATE_COUNT);
    return states[from].next & 1u << to;
}

struct reading {
    activity_fn on_activity;
    void *arg;
};

static bool take_text(struct slice column, char *out, size_t size)
{
    if (!column.ptr || column.len >= size)
        return false;
    memcpy(out, column.ptr, column.len);
    out[column.len] = '\0';
    return true;
}

/* In the order of activity_read's columns. */
static bool take_row(void *arg, const struct slice *c, unsigned count)
{
    struct reading *reading = arg;
    struct activity a = {0};
    int64_t n[16];

    if (count != 19)
        return false;
    for (unsigned i = 0; i < 16; i++) {
        if (!db_column_i64(c[i], &n[i]))
            return false;
    }
    a.id = n[0];
    a.sku_id = n[1];
    a.unit_price = n[2];
    a.total_stock = n[3];
    a.pay_timeout_ms = n[4];
    a.starts_at = n[5];
    a.ends_at = n[6];
    a.per_user_limit = (int32_t)n[7];
    a.shards = (int32_t)n[8];
    a.epoch = (int32_t)n[9];
    a.free_amount = n[10] != 0;
    a.rebuy_after_release = n[11] != 0;
    a.reservations = n[12] != 0;
    a.preheated_at = n[13];
    a.preheated = a.preheated_at != 0;
    a.available = n[14];
    a.created_at = n[15];
    if (!activity_state_of_name(c[16], &a.state) || !take_text(c[17], a.currency, sizeof a.currency) ||
        !take_text(c[18], a.title, sizeof a.title))
        return false;
    reading->on_activity(reading->arg, &a);
    return true;
}

#define MS(column) "CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," column ") DIV 1000 AS SIGNED)"

static const char select_activity[] =
    "SELECT a.id,a.sku_id,a.unit_price,a.total_stock,a.pay_timeout_ms," MS("a.starts_at") "," MS(
        "a.ends_at") ","
                     "a.per_user_limit,a.shards,a.epoch,a.free_amount,a.rebuy_after_release,a.reservations,"
                     "COALESCE(" MS("a.preheated_at") ",0),COALESCE(s.available,0)," MS(
                         "a.created_at") ",a.state,a.currency,a.title "
                                         "FROM activity a LEFT JOIN activity_stock s ON s.activity_id=a.id";

static bool read_rows(struct db *db, const struct strbuf *sql, activity_fn on_activity, void *arg, struct error *err)
{
    struct reading reading = {on_activity, arg};

    return db_query(db, (struct slice){sql->data, sql->len}, take_row, &reading, err);
}

bool activity_read_unsettled(struct db *db, activity_fn on_activity, void *arg, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, select_activity);
    strbuf_addf(&sql, " WHERE a.state IN('%s','%s','%s') ORDER BY a.id", states[ACTIVITY_SCHEDULED].name,
                states[ACTIVITY_RUNNING].name, states[ACTIVITY_ENDED].name);
    ok = read_rows(db, &sql, on_activity, arg, err);
    strbuf_release(&sql);
    return ok;
}

bool activity_read(struct db *db, const int64_t *ids, size_t count, activity_fn on_activity, void *arg,
                   struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, select_activity);
    for (size_t i = 0; i < count; i++) {
        strbuf_add_str(&sql, i ? "," : " WHERE a.id IN(");
        strbuf_add_i64(&sql, ids[i]);
    }
    strbuf_add_str(&sql, count ? ") ORDER BY a.id" : " ORDER BY a.id");
    ok = read_rows(db, &sql, on_activity, arg, err);
    strbuf_release(&sql);
    return ok;
}

#define KEPT_AFTER_LAST_PAYMENT_MS (2 * 3600 * INT64_C(1000))

void activity_plan(const struct activity *a, int shard, struct stock_plan *out)
{
    CHECK(shard >= 0 && shard < a->shards);
    *out = (struct stock_plan){
        .activity = a->id,
        .shard = shard,
        .cap = a->total_stock / a->shards + (shard < a->total_stock % a->shards),
        .epoch = a->epoch,
        .limit = a->per_user_limit,
        .starts_at = a->starts_at,
        .ends_at = a->ends_at,
        .expire_at = a->ends_at + a->pay_timeout_ms + KEPT_AFTER_LAST_PAYMENT_MS,
    };
}
