#include "order_change_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/backoff.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"

/* A conflict (deadlock, lock wait) is nobody's fault; so many in a row and it is treated like an outage. */
#define TRIES_MAX   10
#define WAIT_MIN_MS 2
#define WAIT_MAX_MS 100

bool payment_ref_valid(struct slice text)
{
    if (text.len == 0 || text.len > PAYMENT_REF_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~' || strchr("'\"`\\", text.ptr[i]))
            return false;
    }
    return true;
}

/* ---- judging: no database, each wish against what those before it left ---- */

static enum order_condition pay_condition(const struct order_change *c, const struct payment *p,
                                          const struct subject *s)
{
    if (p->decided) {
        bool same = strcmp(p->order_no, c->order_no) == 0 && p->amount == c->amount;

        return same ? order_condition_of_outcome(p->outcome) : ORDER_CONDITION_PAY_CONFLICT;
    }
    return s && s->order.amount != c->amount ? ORDER_CONDITION_PAY_OTHER_AMOUNT : ORDER_CONDITION_PAY;
}

static enum order_condition condition_of(const struct order_change *c, const struct payment *p, const struct subject *s)
{
    switch (c->wish) {
    case ORDER_WISH_PAY:
        return pay_condition(c, p, s);
    case ORDER_WISH_CANCEL:
        return ORDER_CONDITION_CANCEL;
    case ORDER_WISH_EXPIRE:
        break;
    }
    return s && s->overdue_us >= 0 ? ORDER_CONDITION_EXPIRE_DUE : ORDER_CONDITION_EXPIRE_EARLY;
}

static void move(struct subject *s, enum order_standing to, const struct order_change *by, enum reason reason)
{
    s->standing = to;
    s->by = by;
    s->reason = reason;
}

static void decide(struct payment *p, enum payment_outcome outcome, const struct order_change *by,
                   const struct subject *s, enum reason reason)
{
    p->decided = true;
    p->order_no = by->order_no;
    p->amount = by->amount;
    p->outcome = outcome;
    p->by = by;
    p->subject = s;
    p->reason = reason;
}

static enum reason judge(struct change_run *run, const struct order_change *c)
{
    struct subject *s = change_subject(run, c->order_no);
    struct payment *p = c->wish == ORDER_WISH_PAY ? change_payment(run, c->payment_ref) : NULL;
    struct order_transition t = order_transition(condition_of(c, p, s), s ? s->standing : ORDER_STANDS_UNKNOWN);

    switch (t.does) {
    case ORDER_DOES_NOTHING:
        break;
    case ORDER_DOES_APPLY:
        move(s, ORDER_STANDS_PAID, c, t.verdict);
        decide(p, PAYMENT_APPLIED, c, s, t.verdict);
        break;
    case ORDER_DOES_REFUND:
        decide(p, PAYMENT_REFUND_DUE, c, s, t.verdict);
        break;
    case ORDER_DOES_MISMATCH:
        decide(p, PAYMENT_AMOUNT_MISMATCH, c, s, t.verdict);
        break;
    case ORDER_DOES_CLOSE:
        move(s, ORDER_STANDS_CLOSED, c, t.verdict);
        break;
    case ORDER_DOES_REARM:
        s->rearm = true;
        break;
    }
    return t.verdict;
}

/* ---- the transaction ---- */

static void begin_attempt(struct change_run *run)
{
    arena_reset(run->arena);
    local_messages_free(&run->messages);
    run->subject_count = run->payment_count = run->sale_count = 0;
    run->verdicts = arena_alloc(run->arena, run->count * sizeof *run->verdicts);
}

static bool changes_anything(const struct change_run *run)
{
    for (size_t i = 0; i < run->subject_count; i++) {
        if (run->subjects[i].by || run->subjects[i].rearm)
            return true;
    }
    for (size_t i = 0; i < run->payment_count; i++) {
        if (run->payments[i].by)
            return true;
    }
    return false;
}

static bool attempt(struct change_run *run, struct error *err)
{
    begin_attempt(run);
    if (!change_read(run, err))
        return false;
    for (size_t i = 0; i < run->count; i++)
        run->verdicts[i] = judge(run, &run->changes[i]);
    if (changes_anything(run))
        return change_write(run, err);
    db_rollback(run->db); /* only for the locks */
    return true;
}

static void count_metric(const struct change_run *run, enum metric metric, int64_t n)
{
    if (run->options->metrics && n > 0)
        metric_add(run->options->metrics, metric, (uint64_t)n);
}

/* How late it is closed: what it was when its row was read, and the time since then. */
static void note_lag(const struct change_run *run, const struct subject *s)
{
    if (run->options->metrics && s->by->wish == ORDER_WISH_EXPIRE)
        metric_observe(run->options->metrics, METRIC_SPAN_RELEASE, s->overdue_us + clock_mono_us() - run->read_at);
}

static void note_changes(const struct change_run *run)
{
    int64_t paid = 0, closed = 0, refunds = 0;

    for (size_t i = 0; i < run->subject_count; i++) {
        const struct subject *s = &run->subjects[i];

        paid += s->by && s->standing == ORDER_STANDS_PAID;
        if (s->by && s->standing == ORDER_STANDS_CLOSED) {
            closed++;
            note_lag(run, s);
        }
    }
    for (size_t i = 0; i < run->payment_count; i++)
        refunds += run->payments[i].by && run->payments[i].outcome != PAYMENT_APPLIED;
    count_metric(run, METRIC_ORDERS_PAID, paid);
    count_metric(run, METRIC_ORDERS_CLOSED, closed);
    count_metric(run, METRIC_REFUNDS_DUE, refunds);
}

static void note_dropped(const struct change_run *run)
{
    for (size_t i = 0; i < run->sale_count; i++) {
        const struct sale *sale = &run->sales[i];

        if (sale->dropped == 0)
            continue;
        count_metric(run, METRIC_STOCK_UNITS_CAPPED, sale->dropped);
        log_event(LOG_EVENT_STOCK_CAPPED, LOG_INT("activity_id", sale->id), LOG_INT("dropped", sale->dropped),
                  LOG_INT("returned", sale->units));
    }
}

static void hand_out(struct change_run *run, struct local_messages *committed)
{
    for (size_t i = 0; i < run->count; i++)
        run->changes[i].verdict = run->verdicts[i];
    local_messages_append(committed, &run->messages);
    note_changes(run);
    note_dropped(run);
}

static void wait_conflict(const struct change_run *run, struct backoff *backoff, const struct error *why)
{
    count_metric(run, METRIC_DB_CONFLICTS, error_class_of(why) == ERROR_CLASS_TRANSIENT);
    log_event(LOG_EVENT_CHANGE_RETRIED, LOG_INT("orders", run->count), LOG_ERR(why));
    if (run->options->keep_alive)
        run->options->keep_alive(run->options->arg);
    clock_sleep_ms(backoff_next(backoff));
}

/* After an error, whose transaction is gone or goes here: whether the same is worth another try at once. */
static bool again(struct change_run *run, struct backoff *backoff, const struct error *why)
{
    bool reused = why->code == ERROR_DB_DUPLICATE && strcmp(db_duplicate_key(run->db), "uk_payment_ref") == 0;

    if (!db_usable(run->db))
        return false;
    db_rollback(run->db);
    if (why->code == ERROR_DB_CHECK && !run->cap) {
        run->cap = true;
        return true;
    }
    /* Somebody decided about a payment between our look and our INSERT: the next look finds it. */
    if (error_class_of(why) != ERROR_CLASS_TRANSIENT && !reused)
        return false;
    wait_conflict(run, backoff, why);
    return true;
}

bool order_change_run(struct db *db, struct order_change *changes, size_t count,
                      const struct order_change_options *options, struct local_messages *committed, struct error *err)
{
    struct change_run run = {.db = db, .options = options, .changes = changes, .count = count};
    struct backoff backoff;
    bool ok = false;

    CHECK(count > 0 && count <= ORDER_CHANGE_MAX);
    backoff_init(&backoff, WAIT_MIN_MS, WAIT_MAX_MS, backoff_seed());
    run.arena = arena_create((size_t)64 * 1024);
    local_messages_init(&run.messages);
    for (size_t i = 0; i < count; i++)
        changes[i].verdict = REASON_NONE;
    for (int tries = 1; !(ok = attempt(&run, err)); tries++) {
        if (!again(&run, &backoff, err) || tries == TRIES_MAX)
            break;
        error_clear(err);
    }
    if (ok)
        hand_out(&run, committed);
    else
        (void)!error_prefix(err, "changing %zu orders", count);
    local_messages_free(&run.messages);
    strbuf_release(&run.sql);
    arena_destroy(&run.arena);
    return ok;
}

bool order_change_probe(struct db *db, struct error *err)
{
    static const char sql[] =
        "SELECT id,order_no,expires_at FROM orders WHERE FALSE FOR UPDATE;"
        "SELECT rebuy_after_release,reservations FROM activity WHERE FALSE;"
        "UPDATE orders SET status='closed',reason='',units_returned=0,paid_at=NULL,closed_at=NULL WHERE FALSE;"
        "INSERT INTO payment(payment_ref,order_no,amount,paid_at,outcome,reason) SELECT "
        "payment_ref,order_no,amount,paid_at,outcome,reason FROM payment WHERE FALSE;"
        "INSERT INTO local_message(message_key,topic,payload) SELECT message_key,topic,payload FROM local_message "
        "WHERE FALSE;"
        "UPDATE activity_stock SET available=available WHERE FALSE AND total>0";

    if (db_run(db, slice_of(sql), err))
        return true;
    db_rollback(db);
    return error_prefix(err, "looking whether orders can be changed again");
}

/* ---- what is overdue ---- */

struct overdue {
    struct order_change *out;
    size_t max, count;
};

static bool take_overdue(void *arg, const struct slice *c, unsigned count)
{
    struct overdue *o = arg;
    struct order_change *change = &o->out[o->count];

    if (count != 1 || o->count == o->max)
        return false;
    if (!order_no_valid(c[0])) /* somebody else's hand; what follows would put it into a statement */
        return true;
    *change = (struct order_change){.wish = ORDER_WISH_EXPIRE};
    memcpy(change->order_no, c[0].ptr, c[0].len);
    o->count++;
    return true;
}

bool order_change_due(struct db *db, int64_t grace_ms, size_t max, struct order_change *out, size_t *count,
                      struct error *err)
{
    struct overdue overdue = {out, max, 0};
    char sql[256];

    snprintf(sql, sizeof sql,
             "SELECT order_no FROM orders FORCE INDEX(k_due) WHERE status='pending' AND expires_at<NOW(6)-INTERVAL "
             "%" PRId64 "000 MICROSECOND ORDER BY expires_at LIMIT %zu",
             grace_ms, max);
    *count = 0;
    if (!db_query(db, slice_of(sql), take_overdue, &overdue, err))
        return error_prefix(err, "looking for overdue orders");
    *count = overdue.count;
    return true;
}
