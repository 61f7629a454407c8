/* What became of the orders that pay worked on: rows of orders and payment, by order number. */
#include "pay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/order_store.h"
#include "orderd/order_transition.h"

#define PAGE    500 /* half a second where each row is another page of a disk: far from mysql.read_timeout */
#define LOOK_MS 100

struct reading {
    struct bills *bills;
    int64_t since_us; /* orders created later were heard of; 0: nobody listened */
};

static bool status_of(struct slice name, uint8_t *out)
{
    for (int status = 0; status < ORDER_STATUS_COUNT; status++) {
        *out = (uint8_t)status;
        if (slice_is(name, order_status_name((enum order_status)status)))
            return true;
    }
    return false;
}

static bool on_order(void *arg, const struct slice *c, unsigned count)
{
    struct reading *r = arg;
    uint32_t index = count == 4 ? idset_find(&r->bills->ids, c[0]) : IDSET_NONE;
    struct bill_seen *seen = index == IDSET_NONE ? NULL : &r->bills->list[index].seen;
    int64_t due, created_us;

    if (!seen || !status_of(c[1], &seen->status) || !db_column_i64(c[2], &due) || !db_column_i64(c[3], &created_us))
        return false;
    seen->due = due;
    seen->heard = r->since_us > 0 && created_us > r->since_us;
    return true;
}

static bool on_payment(void *arg, const struct slice *c, unsigned count)
{
    struct reading *r = arg;
    uint32_t index = count == 4 ? idset_find(&r->bills->ids, c[0]) : IDSET_NONE;
    struct bill_seen *seen = index == IDSET_NONE ? NULL : &r->bills->list[index].seen;
    enum payment_outcome outcome;
    int64_t amount;
    char ref[64];
    unsigned n = 0;

    if (!seen || !db_column_i64(c[2], &amount) || !payment_outcome_of_name(c[3], &outcome))
        return false;
    for (; n < BILL_PAYMENTS; n++) {
        bill_payment_ref(ref, sizeof ref, idset_text(&r->bills->ids, index), n);
        if (slice_is(c[1], ref))
            break;
    }
    if (n == BILL_PAYMENTS) {
        seen->foreign++;
        return true;
    }
    seen->payments[n].rows++;
    seen->payments[n].outcome = (uint8_t)outcome;
    seen->payments[n].amount = amount;
    return true;
}

static bool read_page(struct reading *r, struct db *db, size_t from, struct strbuf *sql, struct error *err)
{
    static const struct {
        const char *select;
        db_row_fn on_row;
    } queries[] = {{"SELECT order_no,status,COALESCE(expires_at<=UTC_TIMESTAMP(6),0),"
                    "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',created_at) FROM orders WHERE order_no IN(",
                    on_order},
                   {"SELECT order_no,payment_ref,amount,outcome FROM payment WHERE order_no IN(", on_payment}};
    size_t to = from + PAGE < r->bills->ids.count ? from + PAGE : r->bills->ids.count;
    bool ok = true;

    for (size_t q = 0; q < sizeof queries / sizeof *queries && ok; q++) {
        strbuf_reset(sql);
        strbuf_add_str(sql, queries[q].select);
        for (size_t i = from; i < to; i++)
            strbuf_addf(sql, "%s'%s'", i > from ? "," : "", order_no_checked(idset_text(&r->bills->ids, (uint32_t)i)));
        strbuf_add_char(sql, ')');
        ok = db_query(db, (struct slice){sql->data, sql->len}, queries[q].on_row, r, err);
    }
    return ok;
}

static bool read_all(struct reading *r, const struct conf *conf, struct error *err)
{
    struct db *db = db_open(conf, err);
    struct strbuf sql = STRBUF_INIT;
    bool ok = db != NULL;

    bills_forget_seen(r->bills);
    for (size_t i = 0; i < r->bills->ids.count && ok; i += PAGE)
        ok = read_page(r, db, i, &sql, err);
    strbuf_release(&sql);
    db_close(&db);
    return ok || error_prefix(err, "reading payments");
}

/* ---- judging ---- */

struct tally {
    int64_t broken[REPORT_CHECKS];
};

static void judge_heard(struct report *report, const struct bills *bills, uint32_t index, const struct pay_ear *ear,
                        struct tally *t)
{
    const char *order_no = idset_text(&bills->ids, index);
    struct bill_heard h = pay_ear_heard(ear, order_no);

    if (bill_heard_right(&bills->list[index], &h))
        return;
    t->broken[REPORT_EVENTS]++;
    report_example(report, REPORT_EVENTS, "%s, %s: created %u, paid %u, closed %u, refund_due %u times", order_no,
                   order_status_name((enum order_status)bills->list[index].seen.status), h.created, h.paid, h.closed,
                   h.refund[0] + h.refund[1]);
}

static void judge_one(struct report *report, const struct bills *bills, uint32_t index, struct tally *t)
{
    const struct bill *b = &bills->list[index];
    enum bill_fault fault = bill_judge(b);
    enum report_check_kind check = bill_fault_check(fault);

    if (fault == BILL_GOOD)
        return;
    t->broken[check]++;
    report_example(report, check, "%s: %s; it is %s (plan: %s)", idset_text(&bills->ids, index),
                   bill_fault_words(fault),
                   b->seen.status < ORDER_STATUS_COUNT ? order_status_name((enum order_status)b->seen.status)
                                                       : "not in the database",
                   bill_plan_row((enum bill_plan)b->plan)->name);
}

/* true: all is right. */
static bool judge(struct report *report, const struct bills *bills, const struct pay_ear *ear)
{
    static const enum report_check_kind kinds[] = {REPORT_PAID, REPORT_RELEASED, REPORT_DECIDED, REPORT_REFUNDS};
    struct tally t = {{0}};
    int64_t all = 0;

    memset(&report->checks[REPORT_PAID], 0, (REPORT_EVENTS - REPORT_PAID + 1) * sizeof *report->checks);
    for (uint32_t i = 0; i < bills->ids.count; i++) {
        judge_one(report, bills, i, &t);
        if (ear && bills->list[i].seen.status < ORDER_STATUS_COUNT)
            judge_heard(report, bills, i, ear, &t);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        report_check(report, kinds[i], REPORT_EQUAL, 0, t.broken[kinds[i]]);
        all += t.broken[kinds[i]];
    }
    if (ear)
        report_check(report, REPORT_EVENTS, REPORT_EQUAL, 0, t.broken[REPORT_EVENTS] + ear->unreadable);
    return all == 0 && (!ear || report->checks[REPORT_EVENTS].found == 0);
}

/* What may still change does: a look that finds another number of faults begins the wait anew. */
bool pay_verify(struct run *run, struct bills *bills, struct pay_ear *ear, struct error *err)
{
    struct reading r = {.bills = bills, .since_us = ear ? ear->since_us : 0};
    int64_t until = clock_mono_ms() + run->o.wait_ms, changed = clock_mono_ms(), before = -1;

    for (;;) {
        int64_t begun = clock_mono_ms(), sum = 0;
        bool read = read_all(&r, run->conf, err), right;

        if (!read && (error_class_of(err) != ERROR_CLASS_OUTAGE || begun >= until))
            return false;
        if (ear)
            pay_ear_listen(ear);
        right = read && judge(&run->report, bills, ear);
        for (int kind = REPORT_PAID; kind <= REPORT_EVENTS; kind++)
            sum += run->report.checks[kind].found;
        if (!read || sum != before)
            changed = clock_mono_ms();
        before = sum;
        if (read && (right || begun >= until || begun - changed >= run->o.settle_ms))
            return true;
        *err = (struct error){0};
        clock_sleep_ms((clock_mono_ms() - begun) * 4 + LOOK_MS);
    }
}

void pay_report(struct run *run, const struct bills *bills, int64_t different)
{
    int64_t status[ORDER_STATUS_COUNT + 1] = {0}, outcome[PAYMENT_OUTCOME_COUNT] = {0}, close = 0;
    struct report *r = &run->report;

    for (size_t i = 0; i < bills->ids.count; i++) {
        const struct bill *b = &bills->list[i];

        status[b->seen.status]++;
        close += b->state == BILL_CLOSE;
        for (unsigned n = 0; n < BILL_PAYMENTS; n++)
            outcome[b->seen.payments[n].outcome] += b->seen.payments[n].rows;
    }
    report_fact(r, "found", "orders found pending", (int64_t)bills->ids.count);
    report_fact(r, "orders_paid", "  of them paid", status[ORDER_PAID]);
    report_fact(r, "orders_closed", "  of them closed", status[ORDER_CLOSED]);
    if (status[ORDER_PENDING] > 0)
        report_fact(r, "orders_pending", "  of them waiting for their payment", status[ORDER_PENDING]);
    if (different >= 0)
        report_fact(r, "payments_different", "different payments, all kinds", different);
    report_fact(r, "applied", "  of them paid an order", outcome[PAYMENT_APPLIED]);
    report_fact(r, "refund_due", "  of them to be refunded", outcome[PAYMENT_REFUND_DUE]);
    report_fact(r, "amount_mismatch", "  of them to be refunded, for a wrong amount", outcome[PAYMENT_AMOUNT_MISMATCH]);
    if (close > 0)
        report_fact(r, "close", "paid or cancelled so late that the time-out may win", close);
}
