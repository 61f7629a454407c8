/* What orderload pay does with each order: its plan, how far it got, and what was seen of it in the end. One entry per
 * order number.
 *
 * A payments file keeps plan and state from run to run, one line for each step; the last line of an order counts:
 *   order_no activity amount plan state
 * The line "planned" is written before anything is sent, so a run that is killed leaves no payment that is not
 * in it. Payments have the references <order_no>.1 and <order_no>.2. One owner. */
#ifndef ORDERD_LOAD_BILLS_H
#define ORDERD_LOAD_BILLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "idset.h"
#include "lines.h"
#include "orderd/error.h"
#include "orderd/order.h"
#include "publish.h"
#include "report.h"

#define BILL_PAYMENTS 2 /* at most, for one order */

enum bill_plan {
#define X(plan, name, payments, first, with, after, end) BILL_##plan,
#include "orderd/tbl/load_plan.h"
#undef X
    BILL_PLANS
};

enum bill_end { BILL_END_PAID, BILL_END_CLOSED, BILL_END_EITHER };

struct bill_plan_row {
    const char *name;
    unsigned payments;
    enum publish_kind first, with, after; /* PUBLISH_ORDER: nothing */
    enum bill_end end;
};

const struct bill_plan_row *bill_plan_row(enum bill_plan plan);

enum bill_state {
    BILL_PLANNED, /* nothing of it, some or all may have been sent */
    BILL_SENT,    /* the broker has all, in time; or there is nothing to send */
    BILL_CLOSE,   /* the broker has all, but so late that the time-out may have been first */
};

struct bill_seen {
    uint8_t status; /* enum order_status; ORDER_STATUS_COUNT: no row */
    bool due;       /* its time is over */
    bool heard;     /* it was created while events were listened to */
    struct {
        uint8_t rows, outcome;
        int64_t amount;
    } payments[BILL_PAYMENTS];
    unsigned foreign; /* payments of it that have none of our references */
};

struct bill_heard { /* events by different message ids; stops at 255 */
    uint8_t created, paid, closed, refund[BILL_PAYMENTS];
};

struct bill {
    int64_t amount;
    int64_t until_ms; /* its time-out, by the monotonic clock of this machine; 0: an earlier run's */
    uint32_t pass;    /* of the last look that found it pending */
    uint8_t plan, state;
    uint8_t open;    /* messages that the broker has not confirmed */
    bool after_sent; /* what was to be sent afterwards */
    struct bill_seen seen;
};

struct bills {
    int64_t activity;
    struct idset ids;
    struct bill *list; /* by index of ids */
    size_t cap;
    struct lines_passed passed; /* of the payments files */
};

void bills_init(struct bills *bills, int64_t activity);
void bills_release(struct bills *bills);

/* The order's index; a new one is unpaid and planned. */
uint32_t bills_add(struct bills *bills, struct slice order_no, int64_t amount);

/* Forgets what was seen. */
void bills_forget_seen(struct bills *bills);

/* What was paid by its n-th payment (0 ..), in minor units. */
int64_t bill_payment_amount(const struct bill *bill);

/* Writes the reference of an order's n-th payment (0 ..). */
void bill_payment_ref(char *out, size_t size, const char *order_no, unsigned n);

/* ---- what is wrong with one ---- */

enum bill_fault {
    BILL_GOOD,
    BILL_UNKNOWN_PAYMENT, /* a row for a payment that nobody sent */
    BILL_LOST_PAYMENT,    /* no row for one that was sent */
    BILL_WRONG_AMOUNT,    /* the row has another amount than was sent */
    BILL_WRONG_OUTCOME,   /* applied without a paid order, a paid order without one, refund of what paid it ... */
    BILL_NOT_PAID,
    BILL_NOT_CLOSED,
    BILL_FAULTS
};

/* By what was seen of it. Pure. */
enum bill_fault bill_judge(const struct bill *bill);

/* Whether what was heard of it is what was seen of it. Pure. */
bool bill_heard_right(const struct bill *bill, const struct bill_heard *heard);

const char *bill_fault_words(enum bill_fault fault);
enum report_check_kind bill_fault_check(enum bill_fault fault);

/* ---- payments files ---- */

/* Reads the bills of this activity; those of others are passed over and counted (bills.passed). INPUT_INVALID names
 * file and line; IO: it cannot be read. A last line without its end is passed over, as in an ids file. */
ORDERD_MUST_CHECK bool bills_read(struct bills *bills, const char *path, struct error *err);

/* Opens it for appending, made where it is missing. NULL: IO. */
ORDERD_MUST_CHECK FILE *bills_open(const char *path, struct error *err);

void bills_write(FILE *file, const struct bills *bills, uint32_t index);

#endif
