/* What is mended in MySQL. */
#include <inttypes.h>

#include "orderd/clock.h"
#include "repair_private.h"

#define CONFLICTS_MAX 5

static bool run_sql(struct repair *r, const struct strbuf *sql)
{
    for (int tries = 1;; tries++) {
        error_clear(r->err);
        if (db_run(r->db, (struct slice){sql->data, sql->len}, r->err))
            return true;
        if (db_usable(r->db))
            db_rollback(r->db);
        if (r->err->code != ERROR_DB_CONFLICT || tries == CONFLICTS_MAX)
            return false;
        clock_sleep_ms(tries * 10);
    }
}

/* ---- lost messages: recover:<order_no> ---- */

static void add_key(struct strbuf *sql, const struct subject *s)
{
    strbuf_add_str(sql, "'recover:");
    strbuf_add_str(sql, order_no_checked(s->order_no)); /* no quote in its alphabet */
    strbuf_add_char(sql, '\'');
}

/* Those that were sent n times before go out for another time. Only a row that still says n and was sent is changed, so
 * two walkers who found the same count once. */
static void add_again(struct repair *r, struct strbuf *sql, int n)
{
    bool any = false;

    for (size_t i = 0; i < r->picked_count; i++) {
        const struct subject *s = repair_subject(r, i);

        if (s->recoveries != n)
            continue;
        if (!any)
            strbuf_addf(sql,
                        "%sUPDATE local_message FORCE INDEX(uk_message_key) SET state='pending',attempts=0,"
                        "due_at=NOW(6),first_due_at=NULL,sent_at=NULL,lease_owner=NULL,lease_until=NULL,"
                        "last_error=NULL,headers='{\"orderd-recovery\":%d}' WHERE message_key IN",
                        sql->len > 0 ? ";" : "", n + 1);
        strbuf_add_char(sql, any ? ',' : '(');
        add_key(sql, s);
        any = true;
    }
    if (any && n > 0)
        strbuf_addf(sql, ") AND state='sent' AND headers='{\"orderd-recovery\":%d}'", n);
    else if (any)
        strbuf_add_str(sql, ") AND state='sent' AND (headers IS NULL OR headers NOT LIKE '%\"orderd-recovery\"%')");
}

/* The first time. A key that exists by now was written by somebody who found the same: it stays as it is. (Any other
 * failure of the statement is still one: this is no INSERT IGNORE.) */
static void add_first(struct repair *r, struct strbuf *sql)
{
    struct strbuf payload = STRBUF_INIT;
    bool any = false;

    for (size_t i = 0; i < r->picked_count; i++) {
        const struct subject *s = repair_subject(r, i);
        struct order order;

        if (s->recoveries > 0)
            continue;
        if (!any)
            strbuf_addf(sql, "%sINSERT INTO local_message(message_key,topic,payload,headers) VALUES",
                        sql->len > 0 ? ";" : "");
        strbuf_add_str(sql, any ? ",(" : "(");
        add_key(sql, s);
        strbuf_add_str(sql, ",'order.create',_binary");
        report_order_of(r->activity, s, &order);
        strbuf_reset(&payload);
        order_encode(&order, &payload);
        db_add_quoted(r->db, sql, (struct slice){payload.data, payload.len});
        strbuf_add_str(sql, ",'{\"orderd-recovery\":1}')");
        any = true;
    }
    if (any)
        strbuf_add_str(sql, " ON DUPLICATE KEY UPDATE id=id");
    strbuf_release(&payload);
}

static int most_recoveries(const struct repair *r)
{
    int most = 0;

    for (size_t i = 0; i < r->picked_count; i++) {
        const struct subject *s = repair_subject(r, i);

        most = s->recoveries > most ? s->recoveries : most;
    }
    return most;
}

bool repair_messages(struct repair *r)
{
    struct strbuf sql = STRBUF_INIT;
    int most = most_recoveries(r);
    bool ok;

    for (int n = 0; n <= most; n++)
        add_again(r, &sql, n);
    add_first(r, &sql);
    ok = run_sql(r, &sql);
    for (size_t i = 0; i < r->picked_count && ok; i++) {
        const struct subject *s = repair_subject(r, i);

        repair_says(r, r->picked[i], BALANCE_MENDED, "recover:%s goes out, for the %s time", s->order_no,
                    s->recoveries == 0   ? "first"
                    : s->recoveries == 1 ? "second"
                    : s->recoveries == 2 ? "third"
                                         : "umpteenth");
    }
    strbuf_release(&sql);
    return ok;
}

/* ---- the stock row ---- */

struct stock_row_now {
    bool exists;
    int64_t total, available;
};

static bool take_stock(void *arg, const struct slice *c, unsigned count)
{
    struct stock_row_now *now = arg;

    now->exists = true;
    return count == 2 && db_column_i64(c[0], &now->total) && db_column_i64(c[1], &now->available);
}

static bool lock_and_sum(struct repair *r, struct stock_row_now *now, int64_t *live)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql, "SELECT total,available FROM activity_stock WHERE activity_id=%" PRId64 " FOR UPDATE",
                r->activity->id);
    ok = db_run(r->db, slice_of("BEGIN"), r->err) &&
         db_query(r->db, (struct slice){sql.data, sql.len}, take_stock, now, r->err);
    strbuf_reset(&sql);
    strbuf_addf(&sql,
                "SELECT COALESCE(SUM(quantity),0) FROM orders FORCE INDEX(uk_live) WHERE activity_id=%" PRId64
                " AND live_user IS NOT NULL",
                r->activity->id);
    ok = ok && db_query_i64(r->db, (struct slice){sql.data, sql.len}, 0, live, r->err);
    strbuf_release(&sql);
    return ok;
}

/* available = total - live, with the stock row locked.
 *
 * Why that is right while orders are made and closed beside it: every such transaction changes its orders first and the
 * stock row last, relative to what is there. One that has committed is in our sum (READ COMMITTED reads what is
 * committed when the statement begins, and we have the lock by then). One that has not is not in our sum, and has not
 * changed the stock row either, or we would not have the lock; it will add or take its units on top of what we write.
 * The sum is a plain SELECT on purpose: as a subquery of the UPDATE it would lock the orders of those transactions, and
 * wait for each other with them. */
static bool level(struct repair *r, const struct stock_row_now *now, int64_t live)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql, "UPDATE activity_stock SET available=%" PRId64 " WHERE activity_id=%" PRId64 ";COMMIT",
                now->total - live, r->activity->id);
    ok = db_run(r->db, (struct slice){sql.data, sql.len}, r->err);
    strbuf_release(&sql);
    return ok;
}

static bool level_stock_row(struct repair *r, enum balance_mended *mended, struct stock_row_now *now, int64_t *live)
{
    *now = (struct stock_row_now){0};
    if (!lock_and_sum(r, now, live))
        return false;
    if (!now->exists || now->total < *live) {
        *mended = BALANCE_MENDED_NOT;
        return true;
    }
    *mended = now->available == now->total - *live ? BALANCE_MENDED_BEFORE : BALANCE_MENDED;
    return *mended == BALANCE_MENDED_BEFORE || level(r, now, *live);
}

bool repair_stock_row(struct repair *r)
{
    enum balance_mended mended = BALANCE_MENDED_NOT;
    struct stock_row_now now;
    int64_t live = 0;
    bool ok = level_stock_row(r, &mended, &now, &live);

    if (db_usable(r->db) && (!ok || mended != BALANCE_MENDED))
        db_rollback(r->db);
    for (size_t i = 0; i < r->picked_count && ok; i++)
        repair_says(r, r->picked[i], mended, "total %" PRId64 ", live %" PRId64 ": available %" PRId64 "%s", now.total,
                    live, now.available,
                    mended == BALANCE_MENDED       ? " was set right"
                    : mended == BALANCE_MENDED_NOT ? "; there are more live units than stock"
                                                   : " is right");
    if (ok || r->err->code != ERROR_DB_CONFLICT)
        return ok;
    for (size_t i = 0; i < r->picked_count; i++)
        repair_says(r, r->picked[i], BALANCE_MENDED_NOT, "the stock row is busy: %.150s", r->err->text);
    error_clear(r->err);
    return true;
}
