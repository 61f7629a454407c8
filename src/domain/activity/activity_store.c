#include "orderd/activity_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "activity_draft.h"
#include "activity_sql.h"
#include "orderd/check.h"
#include "orderd/clock.h"

bool activity_store_now(struct db *db, int64_t *out_ms, struct error *err)
{
    return db_query_i64(
        db, slice_of("SELECT CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000 AS SIGNED)"), 0,
        out_ms, err);
}

struct found {
    struct activity *out;
    bool any;
};

static void take(void *arg, const struct activity *activity)
{
    struct found *found = arg;

    *found->out = *activity;
    found->any = true;
}

static bool look_up(struct db *db, int64_t id, struct activity *out, bool *exists, struct error *err)
{
    struct found found = {out, false};

    if (!activity_read(db, &id, 1, take, &found, err))
        return false;
    *exists = found.any;
    return true;
}

bool activity_store_get(struct db *db, int64_t id, struct activity *out, struct error *err)
{
    bool exists;

    if (!look_up(db, id, out, &exists, err))
        return false;
    return exists ||
           error_set(err, ERROR_REFUSED, "there is no activity %" PRId64 "; see `orderctl activity list`", id);
}

/* ---- create ---- */

static void add_time(struct strbuf *sql, int64_t ms)
{
    char text[32];

    clock_format_sql(text, sizeof text, ms);
    strbuf_addf(sql, ",'%s'", text);
}

static void add_insert(const struct db *db, struct strbuf *sql, const struct activity *a)
{
    strbuf_addf(sql,
                "BEGIN;INSERT INTO activity(id,sku_id,unit_price,total_stock,pay_timeout_ms,per_user_limit,shards,"
                "free_amount,rebuy_after_release,reservations,state,starts_at,ends_at,created_at,currency,title) "
                "VALUES(%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId32 ",%" PRId32
                ",%d,%d,%d,'%s'",
                a->id, a->sku_id, a->unit_price, a->total_stock, a->pay_timeout_ms, a->per_user_limit, a->shards,
                a->free_amount, a->rebuy_after_release, a->reservations, activity_state_name(a->state));
    add_time(sql, a->starts_at);
    add_time(sql, a->ends_at);
    add_time(sql, a->created_at);
    strbuf_add_char(sql, ',');
    db_add_quoted(db, sql, slice_of(a->currency));
    strbuf_add_char(sql, ',');
    db_add_quoted(db, sql, slice_of(a->title));
    strbuf_addf(sql,
                ");INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",%" PRId64 ",%" PRId64
                ");COMMIT",
                a->id, a->total_stock, a->total_stock);
}

static bool insert(struct db *db, const struct activity *a, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    add_insert(db, &sql, a);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    if (!ok)
        db_rollback(db);
    return ok;
}

/* What the draft is worth now: relative times count from the creation of the row that is there, else from this instant,
 * so that the same command says the same again later. */
static bool compare(struct db *db, const struct activity_draft *draft, struct activity *out, bool *exists,
                    struct error *err)
{
    struct activity there;
    int64_t now;

    if (!activity_store_now(db, &now, err) || !look_up(db, draft->id, &there, exists, err))
        return false;
    if (!activity_draft_row(draft, *exists ? there.created_at : now, out, err))
        return false;
    if (*exists) {
        if (!activity_draft_is(out, &there, err))
            return false;
        *out = there;
        return true;
    }
    return out->ends_at > now || error_set(err, ERROR_INPUT_INVALID, "the sale would be over already");
}

bool activity_store_create(struct db *db, const struct activity_draft *draft, bool dry_run, bool *created,
                           struct activity *out, struct error *err)
{
    bool exists;

    if (!compare(db, draft, out, &exists, err))
        return false;
    *created = !exists;
    if (exists || dry_run || insert(db, out, err))
        return true;
    if (err->code != ERROR_DB_DUPLICATE)
        return false;
    /* Somebody was faster. */
    *created = false;
    if (!compare(db, draft, out, &exists, err))
        return false;
    return exists || error_set(err, ERROR_REFUSED,
                               "activity_stock has a row for activity %" PRId64
                               " although there is no such activity; choose another number or remove that row",
                               draft->id);
}

/* ---- approve and preheated ---- */

static bool approvable(const struct activity *a, const struct activity_standing *s, int64_t now, struct error *err)
{
    if (a->state != ACTIVITY_REVIEW)
        return error_set(err, ERROR_REFUSED, "activity %" PRId64 " is %s; only one in review can be approved", a->id,
                         activity_state_name(a->state));
    if (a->ends_at <= now)
        return error_set(err, ERROR_REFUSED, "the sale of activity %" PRId64 " is over already; create another", a->id);
    if (!s->has_stock || s->total != a->total_stock || s->available != a->total_stock)
        return error_set(err, ERROR_REFUSED,
                         "activity %" PRId64 " has %" PRId64 " units, but its row of activity_stock says %" PRId64
                         " of %" PRId64 "; mend that row or create another",
                         a->id, a->total_stock, s->available, s->total);
    return true;
}

bool activity_store_approve(struct db *db, int64_t id, bool dry_run, bool *approved, struct activity *out,
                            struct error *err)
{
    struct activity_standing standing;
    int64_t now;

    *approved = false;
    if (!activity_store_get(db, id, out, err))
        return false;
    if (out->state == ACTIVITY_SCHEDULED)
        return true;
    if (!activity_store_now(db, &now, err) || !activity_store_standing(db, id, &standing, err) ||
        !approvable(out, &standing, now, err))
        return false;
    if (dry_run) {
        *approved = true;
        return true;
    }
    return activity_sql_move(db, id, ACTIVITY_REVIEW, ACTIVITY_SCHEDULED, ",epoch=epoch+1", "", approved, err) &&
           activity_store_get(db, id, out, err);
}

bool activity_store_mark_preheated(struct db *db, int64_t id, int32_t epoch, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "UPDATE activity SET preheated_at=COALESCE(preheated_at,UTC_TIMESTAMP(6)) WHERE id=%" PRId64
                " AND epoch=%" PRId32 " AND state='%s'",
                id, epoch, activity_state_name(ACTIVITY_SCHEDULED));
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    if (!ok)
        return false;
    return db_matched(db, 0) == 1 ||
           error_set(err, ERROR_REFUSED,
                     "activity %" PRId64 " was changed while it was preheated; see `orderctl activity show %" PRId64
                     "`",
                     id, id);
}

/* ---- standing ---- */

int64_t activity_standing_live(const struct activity_standing *s)
{
    int64_t units = 0;

    for (int i = 0; i < ORDER_STATUS_COUNT; i++)
        units += order_status_live((enum order_status)i) ? s->by_status[i].units : 0;
    return units;
}

bool activity_store_has_orders(struct db *db, int64_t id, int shard, bool *out, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    int64_t found = 0;
    bool ok;

    strbuf_addf(&sql, "SELECT EXISTS(SELECT 1 FROM orders WHERE activity_id=%" PRId64 " AND shard=%d)", id, shard);
    ok = db_query_i64(db, (struct slice){sql.data, sql.len}, 0, &found, err);
    strbuf_release(&sql);
    *out = found != 0;
    return ok;
}

struct timeouts {
    int64_t *list;
    size_t count;
};

static bool take_timeout(void *arg, const struct slice *c, unsigned count)
{
    struct timeouts *t = arg;

    t->list = check_realloc(t->list, (t->count + 1) * sizeof *t->list);
    return count == 1 && db_column_i64(c[0], &t->list[t->count++]);
}

bool activity_store_timeouts(struct db *db, int64_t **list, size_t *count, struct error *err)
{
    static const char sql[] = "SELECT DISTINCT pay_timeout_ms FROM activity WHERE state IN('scheduled','running',"
                              "'ended') ORDER BY pay_timeout_ms";
    struct timeouts t = {0};

    if (!db_query(db, slice_of(sql), take_timeout, &t, err)) {
        free(t.list);
        return error_prefix(err, "reading which pay time-outs are in use");
    }
    *list = t.list;
    *count = t.count;
    return true;
}
