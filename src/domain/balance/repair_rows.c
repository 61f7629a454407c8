/* What is mended in MySQL. */
#include <inttypes.h>
#include <stdio.h>

#include "orderd/activity_move.h"
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

/* Not below nothing: see set_right. */
static bool add_to_available(struct repair *r, int64_t units)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "UPDATE activity_stock SET available=GREATEST(0,available+%" PRId64 ") WHERE activity_id=%" PRId64,
                units, r->activity->id);
    ok = run_sql(r, &sql);
    strbuf_release(&sql);
    return ok;
}

#define ROUNDS_MAX 3
/* For a walk that moves units between shards; shorter than any mysql.read_timeout. */
#define LOCK_WAIT_S 1

/* By how much available is off is read at one instant, and added to whatever it is by then.
 *
 * Why that is right while orders are made and closed beside it: every such transaction changes its orders and, by as
 * much, the stock row, so that what is off stays the same; so does a restock, of total and available together. So
 * millions of live orders may be summed, for as long as it takes, and nobody waits for a lock. Only another repair
 * changes it, and that one waits for activity_lock.
 *
 * But where available is too high, a return finds no room up to total and is dropped (order_change_write.c), and with
 * that what is off grows less: then too much is taken here, perhaps more than there is. From then on no return is
 * dropped, and a second look gives back what was too much. */
static bool set_right(struct repair *r, enum balance_mended *mended, struct row_sums *first)
{
    struct row_sums now;
    int64_t off = 1;

    *mended = BALANCE_MENDED_BEFORE;
    for (int round = 0; round < ROUNDS_MAX && off > 0; round++) {
        if (!rows_sums(r->scan, &now, r->err))
            return false;
        off = now.available + now.live - now.total;
        *first = round == 0 ? now : *first;
        if (!now.has_stock || now.total < now.live) {
            *first = now;
            *mended = BALANCE_MENDED_NOT;
            return true;
        }
        if (off != 0 && !add_to_available(r, -off))
            return false;
        *mended = off != 0 ? BALANCE_MENDED : *mended;
    }
    return true;
}

static void all_say(struct repair *r, enum balance_mended mended, const char *text)
{
    for (size_t i = 0; i < r->picked_count; i++)
        repair_says(r, r->picked[i], mended, "%s", text);
}

static bool level_stock_row(struct repair *r)
{
    enum balance_mended mended = BALANCE_MENDED_NOT;
    char text[sizeof r->outcomes->text];
    struct row_sums now;

    if (!set_right(r, &mended, &now))
        return false;
    snprintf(text, sizeof text, "total %" PRId64 ", live %" PRId64 ": available %" PRId64 "%s", now.total, now.live,
             now.available,
             mended == BALANCE_MENDED       ? " was set right"
             : mended == BALANCE_MENDED_NOT ? "; there are more live units than stock"
                                            : " is right");
    all_say(r, mended, text);
    return true;
}

bool repair_stock_row(struct repair *r)
{
    bool locked, ok;

    if (!activity_lock(r->db, r->activity->id, LOCK_WAIT_S, &locked, r->err))
        return false;
    if (!locked) {
        all_say(r, BALANCE_MENDED_NOT, "another command changes the activity just now; run this again after it");
        return true;
    }
    ok = level_stock_row(r);
    activity_unlock(r->db, r->activity->id);
    return ok;
}
