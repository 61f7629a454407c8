#include "orderd/survey_count.h"

#include <inttypes.h>
#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/survey_store.h"

#define MS(column) "CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," column ") DIV 1000 AS SIGNED)"

static bool run(struct db *db, struct strbuf *sql, db_row_fn on_row, void *arg, struct error *err)
{
    bool ok = db_query(db, (struct slice){sql->data, sql->len}, on_row, arg, err);

    strbuf_release(sql);
    return ok;
}

static void add_time(struct strbuf *sql, const char *before, int64_t ms)
{
    char text[32];

    clock_format_sql(text, sizeof text, ms);
    strbuf_addf(sql, "%s'%s'", before, text);
}

/* ---- what is recent, and the rest ---- */

struct counting {
    struct survey_rows *rows;
    size_t count;
    struct survey_past *past;
};

static struct survey_rows *rows_of(const struct counting *c, int64_t activity)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->rows[i].activity == activity)
            return &c->rows[i];
    }
    return NULL;
}

/* The verdicts are in the order of enum balance_verdict. */
static void take_activity(struct survey_rows *rows, struct slice what, const int64_t *n)
{
    if (slice_is(what, "stock")) {
        rows->has_stock = true;
        rows->total = n[0];
        rows->available = n[1];
    } else if (slice_is(what, "pending")) {
        rows->pending = n[0];
        rows->pending_units = n[1];
        rows->due_soon = n[2];
        rows->overdue = n[3];
    } else if (slice_is(what, "paid")) {
        rows->paid = n[0];
        rows->paid_units = n[1];
    } else if (slice_is(what, "closed")) {
        rows->closed = n[0];
    } else if (slice_is(what, "walk")) {
        rows->walk_ago_ms = n[0];
        rows->walk_took_ms = n[1];
    } else if (slice_is(what, "reconcile")) {
        rows->reconcile_at = n[0];
        rows->reconcile_verdict = (int)n[1] - 1;
    }
}

static bool take_counts(void *arg, const struct slice *c, unsigned count)
{
    struct counting *counting = arg;
    struct survey_rows *rows;
    int64_t n[5];

    if (count != 6)
        return false;
    for (unsigned i = 0; i < 5; i++) {
        if (!db_column_i64(c[i + 1], &n[i]))
            return false;
    }
    if (slice_is(c[0], "late")) {
        survey_past_settle(counting->past, n[0], n[2] ? ORDER_PAID : ORDER_CLOSED, n[1]);
    } else if (slice_is(c[0], "messages")) {
        for (size_t i = 0; i < counting->count; i++)
            counting->rows[i].messages = n[1] > SURVEY_COUNTED_MAX ? SURVEY_UNKNOWN : n[1];
    } else if ((rows = rows_of(counting, n[0]))) {
        take_activity(rows, c[0], n + 1);
    }
    return true;
}

static void add_activities(struct strbuf *sql, const struct counting *c)
{
    for (size_t i = 0; i < c->count; i++)
        strbuf_addf(sql, "%s%" PRId64, i ? "," : "activity_id IN(", c->rows[i].activity);
    strbuf_add_str(sql, ")");
}

static void add_pending(struct strbuf *sql, const struct counting *c)
{
    strbuf_addf(sql,
                " UNION ALL SELECT 'pending',activity_id,COUNT(*),SUM(quantity),"
                "SUM(expires_at>NOW(6) AND expires_at<=NOW(6)+INTERVAL %d000 MICROSECOND),SUM(expires_at<=NOW(6)) "
                "FROM orders FORCE INDEX(k_due) WHERE status='pending' AND ",
                SURVEY_DUE_SOON_MS);
    add_activities(sql, c);
    strbuf_add_str(sql, " GROUP BY activity_id");
}

static void add_recent(struct strbuf *sql, const struct counting *c, const char *status)
{
    strbuf_addf(sql,
                " UNION ALL SELECT '%s',activity_id,COUNT(*),SUM(quantity),0,0 FROM orders FORCE INDEX(k_due) WHERE "
                "status='%s'",
                status, status);
    add_time(sql, " AND expires_at>=", c->past->front);
    strbuf_add_str(sql, " AND ");
    add_activities(sql, c);
    strbuf_add_str(sql, " GROUP BY activity_id");
}

static void add_late(struct strbuf *sql, const struct survey_past *past)
{
    if (past->late_count == 0)
        return;
    strbuf_add_str(sql, " UNION ALL SELECT 'late',id,quantity,status='paid',0,0 FROM orders FORCE INDEX(PRIMARY) WHERE "
                        "status IN('paid','closed') AND id IN(");
    for (size_t i = 0; i < past->late_count; i++)
        strbuf_addf(sql, "%s%" PRId64, i ? "," : "", past->late[i].order);
    strbuf_add_str(sql, ")");
}

static void add_reconciled(struct strbuf *sql, int64_t activity)
{
    strbuf_addf(sql,
                " UNION ALL SELECT * FROM (SELECT 'reconcile',activity_id," MS(
                    "started_at") ",FIELD(verdict,'clean','explained','broken'),0 AS c,0 AS d FROM reconcile_run WHERE "
                                  "activity_id=%" PRId64 " AND verdict IS NOT NULL ORDER BY started_at DESC LIMIT 1) "
                                  "AS r",
                activity);
}

/* The branches of one statement see one instant. */
static void compose(struct strbuf *sql, const struct counting *c)
{
    strbuf_add_str(sql, "SELECT 'stock',activity_id,total,available,0,0 FROM activity_stock WHERE ");
    add_activities(sql, c);
    add_pending(sql, c);
    add_recent(sql, c, "paid");
    add_recent(sql, c, "closed");
    add_late(sql, c->past);
    strbuf_addf(sql,
                " UNION ALL SELECT 'messages',0,COUNT(*),0,0,0 FROM (SELECT 1 FROM local_message FORCE INDEX(k_due) "
                "WHERE state='pending' LIMIT %d) AS m",
                SURVEY_COUNTED_MAX + 1);
    strbuf_add_str(sql, " UNION ALL SELECT 'walk',activity_id,TIMESTAMPDIFF(MICROSECOND,began_at,UTC_TIMESTAMP(6)) DIV "
                        "1000,CAST(took_ms AS SIGNED),0,0 FROM activity_walk WHERE ");
    add_activities(sql, c);
    for (size_t i = 0; i < c->count; i++)
        add_reconciled(sql, c->rows[i].activity);
}

static void add_past(struct survey_rows *rows, const struct survey_past *past)
{
    struct survey_past_sums sums;

    if (!survey_past_known(past, rows->activity, &sums)) {
        rows->paid = rows->paid_units = rows->closed = SURVEY_UNKNOWN;
        return;
    }
    rows->paid += sums.paid;
    rows->paid_units += sums.paid_units;
    rows->closed += sums.closed;
}

/* Late orders are settled in a copy first: where the answer breaks off, nothing has changed. */
bool survey_count(struct db *db, struct survey_past *past, struct survey_rows *rows, size_t count, struct error *err)
{
    struct survey_past *next = check_malloc(sizeof *next);
    struct counting counting = {rows, count, next};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    *next = *past;
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct survey_rows){.activity = rows[i].activity,
                                       .walk_ago_ms = SURVEY_UNKNOWN,
                                       .reconcile_at = SURVEY_UNKNOWN,
                                       .reconcile_verdict = -1};
    if (count > 0)
        compose(&sql, &counting);
    ok = count == 0 || run(db, &sql, take_counts, &counting, err);
    if (ok)
        *past = *next;
    for (size_t i = 0; i < count && ok; i++)
        add_past(&rows[i], past);
    free(next);
    return ok;
}

/* ---- what is past ---- */

bool survey_count_join(struct db *db, struct survey_past *past, const struct activity *activity, struct error *err)
{
    int64_t since = activity->created_at, any = 1;
    struct strbuf sql = STRBUF_INIT;
    bool ok = true;

    if (survey_past_find(past, activity->id))
        return true;
    if (since < past->front) {
        strbuf_addf(&sql, "SELECT EXISTS(SELECT 1 FROM orders FORCE INDEX(uk_live) WHERE activity_id=%" PRId64 ")",
                    activity->id);
        ok = db_query_i64(db, (struct slice){sql.data, sql.len}, 1, &any, err);
        strbuf_release(&sql);
    }
    if (ok)
        survey_past_join(past, activity->id, any ? since : past->front);
    return ok;
}

struct slicing {
    struct survey_past *past;
    bool too_many;
};

static void add_within(struct strbuf *sql, const char *status, const struct survey_slice *slice)
{
    strbuf_addf(sql, " FROM orders FORCE INDEX(k_due) WHERE status='%s'", status);
    add_time(sql, " AND expires_at>=", slice->from);
    add_time(sql, " AND expires_at<", slice->end);
}

static void add_first_too_many(struct strbuf *sql, const char *status, const struct survey_slice *slice, int orders)
{
    strbuf_add_str(sql, "COALESCE((SELECT " MS("expires_at"));
    add_within(sql, status, slice);
    strbuf_addf(sql, " ORDER BY expires_at LIMIT %d,1),%" PRId64 ")", orders, INT64_MAX);
}

static bool cut(struct db *db, struct survey_slice *slice, int orders, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    int64_t at;
    bool ok;

    strbuf_add_str(&sql, "SELECT LEAST(");
    add_first_too_many(&sql, "paid", slice, orders);
    strbuf_add_char(&sql, ',');
    add_first_too_many(&sql, "closed", slice, orders);
    strbuf_add_char(&sql, ')');
    ok = db_query_i64(db, (struct slice){sql.data, sql.len}, INT64_MAX, &at, err);
    strbuf_release(&sql);
    if (ok)
        survey_slice_cut(slice, at);
    return ok;
}

static bool take_slice(void *arg, const struct slice *c, unsigned count)
{
    struct slicing *s = arg;
    struct survey_past_sums more = {0};
    int64_t activity, a, b;

    if (count != 4 || !db_column_i64(c[1], &activity) || !db_column_i64(c[2], &a) || !db_column_i64(c[3], &b))
        return false;
    if (slice_is(c[0], "late")) {
        s->too_many = s->too_many || !survey_past_add_late(s->past, a, activity);
        return true;
    }
    if (slice_is(c[0], "paid"))
        more = (struct survey_past_sums){.paid = a, .paid_units = b};
    else
        more.closed = a;
    survey_past_add(s->past, activity, &more);
    return true;
}

static void add_branch(struct strbuf *sql, const struct survey_past *past, const char *columns, const char *status,
                       const struct survey_slice *slice)
{
    const char *before = " AND activity_id IN(";

    strbuf_add_str(sql, columns);
    add_within(sql, status, slice);
    for (size_t i = 0; i < past->count; i++) {
        int64_t activity = past->sales[i].activity;

        if (!survey_past_wants(past, slice, activity))
            continue;
        strbuf_addf(sql, "%s%" PRId64, before, activity);
        before = ",";
    }
    strbuf_add_char(sql, ')');
}

static bool count_slice(struct db *db, struct slicing *s, const struct survey_slice *slice, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;

    add_branch(&sql, s->past, "SELECT 'paid',activity_id,COUNT(*),SUM(quantity)", "paid", slice);
    strbuf_add_str(&sql, " GROUP BY activity_id UNION ALL ");
    add_branch(&sql, s->past, "SELECT 'closed',activity_id,COUNT(*),SUM(quantity)", "closed", slice);
    strbuf_add_str(&sql, " GROUP BY activity_id UNION ALL ");
    add_branch(&sql, s->past, "(SELECT 'late',activity_id,id,0", "pending", slice);
    strbuf_addf(&sql, " LIMIT %d)", SURVEY_LATE_MAX + 1);
    return run(db, &sql, take_slice, s, err);
}

/* In a copy first: where the answer breaks off, or is of no use, nothing has changed. */
bool survey_count_past(struct db *db, struct survey_past *past, int64_t horizon, int orders, bool *done,
                       struct error *err)
{
    struct slicing s = {.past = check_malloc(sizeof *s.past)};
    struct survey_slice slice;
    bool ok = true;

    *s.past = *past;
    *done = survey_past_next(past, horizon, &slice);
    if (*done && past->count > 0)
        ok = cut(db, &slice, orders, err) && count_slice(db, &s, &slice, err);
    *done = *done && ok && !s.too_many;
    if (*done) {
        survey_past_done(s.past, &slice);
        *past = *s.past;
    }
    free(s.past);
    return ok;
}
