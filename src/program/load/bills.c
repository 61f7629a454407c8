#include "bills.h"

#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/order_store.h"
#include "orderd/order_transition.h"

static const struct bill_plan_row plans[] = {
#define X(plan, name, payments, first, with, after, end)                                                               \
    [BILL_##plan] = {name, payments, PUBLISH_##first, PUBLISH_##with, PUBLISH_##after, BILL_END_##end},
#include "orderd/tbl/load_plan.h"
#undef X
};

static const struct {
    enum report_check_kind check;
    const char *words;
} faults[BILL_FAULTS] = {
    [BILL_GOOD] = {REPORT_DECIDED, "good"},
    [BILL_UNKNOWN_PAYMENT] = {REPORT_DECIDED, "has a payment that was not sent"},
    [BILL_LOST_PAYMENT] = {REPORT_DECIDED, "a payment that was sent has no row"},
    [BILL_WRONG_AMOUNT] = {REPORT_DECIDED, "a payment's row has another amount"},
    [BILL_WRONG_OUTCOME] = {REPORT_REFUNDS, "its payments do not fit"},
    [BILL_NOT_PAID] = {REPORT_PAID, "was paid in time"},
    [BILL_NOT_CLOSED] = {REPORT_RELEASED, "should be closed"},
};

const struct bill_plan_row *bill_plan_row(enum bill_plan plan)
{
    CHECK(plan < BILL_PLANS);
    return &plans[plan];
}

const char *bill_fault_words(enum bill_fault fault)
{
    CHECK(fault < BILL_FAULTS);
    return faults[fault].words;
}

enum report_check_kind bill_fault_check(enum bill_fault fault)
{
    CHECK(fault < BILL_FAULTS);
    return faults[fault].check;
}

void bills_init(struct bills *bills, int64_t activity)
{
    *bills = (struct bills){.activity = activity};
}

void bills_release(struct bills *bills)
{
    idset_release(&bills->ids);
    free(bills->list);
    *bills = (struct bills){0};
}

uint32_t bills_add(struct bills *bills, struct slice order_no, int64_t amount)
{
    bool fresh;
    uint32_t index = idset_add(&bills->ids, order_no, &fresh);

    if (fresh && index >= bills->cap) {
        bills->cap = bills->cap ? bills->cap * 2 : 512;
        bills->list = check_realloc(bills->list, bills->cap * sizeof *bills->list);
    }
    if (fresh)
        bills->list[index] = (struct bill){.amount = amount, .seen.status = ORDER_STATUS_COUNT};
    return index;
}

void bills_forget_seen(struct bills *bills)
{
    for (size_t i = 0; i < bills->ids.count; i++)
        bills->list[i].seen = (struct bill_seen){.status = ORDER_STATUS_COUNT};
}

int64_t bill_payment_amount(const struct bill *bill)
{
    return bill->amount + (bill->plan == BILL_WRONG ? 1 : 0);
}

void bill_payment_ref(char *out, size_t size, const char *order_no, unsigned n)
{
    snprintf(out, size, "%s.%u", order_no, n + 1);
}

/* ---- judging ---- */

/* Each payment has its one row, where it was surely sent, and none where it was not. */
static enum bill_fault judge_rows(const struct bill *b)
{
    const struct bill_plan_row *plan = bill_plan_row((enum bill_plan)b->plan);

    if (b->seen.foreign > 0)
        return BILL_UNKNOWN_PAYMENT;
    for (unsigned n = 0; n < BILL_PAYMENTS; n++) {
        unsigned sent = n < plan->payments;

        if (b->seen.payments[n].rows > sent)
            return BILL_UNKNOWN_PAYMENT;
        if (b->seen.payments[n].rows < sent && b->state != BILL_PLANNED)
            return BILL_LOST_PAYMENT;
        if (b->seen.payments[n].rows && b->seen.payments[n].amount != bill_payment_amount(b))
            return BILL_WRONG_AMOUNT;
    }
    return BILL_GOOD;
}

/* A paid order was paid by one payment, no other by any; what pays for nothing is called by its name. */
static bool outcomes_fit(const struct bill *b)
{
    unsigned applied = 0;

    for (unsigned n = 0; n < BILL_PAYMENTS; n++) {
        if (!b->seen.payments[n].rows)
            continue;
        applied += b->seen.payments[n].outcome == PAYMENT_APPLIED;
        if ((b->seen.payments[n].outcome == PAYMENT_AMOUNT_MISMATCH) != (b->plan == BILL_WRONG))
            return false;
    }
    return applied == (b->seen.status == ORDER_PAID);
}

static enum bill_fault judge_end(const struct bill *b)
{
    const struct bill_plan_row *plan = bill_plan_row((enum bill_plan)b->plan);
    enum bill_end end = b->state == BILL_SENT ? plan->end : BILL_END_EITHER;
    bool cancelled = b->state == BILL_SENT && plan->first == PUBLISH_CANCEL;
    bool may_wait = b->seen.status == ORDER_PENDING && !b->seen.due && !cancelled;

    if (end == BILL_END_PAID)
        return b->seen.status == ORDER_PAID ? BILL_GOOD : BILL_NOT_PAID;
    if (b->seen.status == ORDER_CLOSED || may_wait || (end == BILL_END_EITHER && b->seen.status == ORDER_PAID))
        return BILL_GOOD;
    return BILL_NOT_CLOSED;
}

enum bill_fault bill_judge(const struct bill *b)
{
    enum bill_fault end = judge_end(b), rows = judge_rows(b);

    if (end != BILL_GOOD)
        return end;
    if (rows != BILL_GOOD)
        return rows;
    return outcomes_fit(b) ? BILL_GOOD : BILL_WRONG_OUTCOME;
}

bool bill_heard_right(const struct bill *b, const struct bill_heard *h)
{
    for (unsigned n = 0; n < BILL_PAYMENTS; n++) {
        bool refund = b->seen.payments[n].rows && b->seen.payments[n].outcome != PAYMENT_APPLIED;

        if (h->refund[n] != refund)
            return false;
    }
    return h->paid == (b->seen.status == ORDER_PAID) && h->closed == (b->seen.status == ORDER_CLOSED) &&
           h->created <= 1 && h->created >= b->seen.heard;
}
