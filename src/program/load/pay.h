/* The parts of `orderload pay`: looking for orders, listening to events, and the verification that `orderload verify`
 * shares. */
#ifndef ORDERD_LOAD_PAY_H
#define ORDERD_LOAD_PAY_H

#include <stdbool.h>
#include <stdint.h>
#include "bills.h"
#include "idset.h"
#include "orderd/broker.h"
#include "orderd/conf.h"
#include "orderd/db.h"
#include "orderd/order_event.h"
#include "run.h"

/* ---- looking for pending orders ---- */

struct pay_look {
    struct bills *bills;
    void (*found)(void *arg, uint32_t index); /* each order that has no bill yet; its bill is there now */
    void *arg;
    uint32_t pass; /* counts the looks; bills found pending have it in bill.pass */
    int64_t pending;
};

/* Reads all pending orders of the activity, in pages. An order that is pending from begin to end is found: its place in
 * the index does not change while it is. After a failure the look counts for nothing. */
ORDERD_MUST_CHECK bool pay_look(struct pay_look *look, struct db *db, struct error *err);

/* ---- events ---- */

/* A queue of its own on the exchange order.event, which is there before the first order is looked for and goes away by
 * itself a minute after the last look at it. */
struct pay_ear {
    const struct conf *conf;
    int64_t activity;
    char queue[64];
    struct broker *broker;
    int64_t not_before_ms, since_us; /* since_us: when it began, by the clock of the database */
    struct idset ids;                /* message ids */
    struct idset orders;             /* order numbers; an order may be heard of before it is looked at */
    struct bill_heard *heard;        /* by index of orders */
    size_t cap;
    int64_t events, repeats, unreadable;
    int64_t told[ORDER_EVENT_COUNT]; /* changes of orders of this activity, of which a message may tell many */
};

ORDERD_MUST_CHECK bool pay_ear_open(struct pay_ear *ear, const struct run *run, struct error *err);
void pay_ear_close(struct pay_ear *ear);

/* Takes what has arrived, without waiting; connects again by itself. */
void pay_ear_listen(struct pay_ear *ear);

/* Takes one event: each message id counts once, orders of other activities do not. */
void pay_ear_take(struct pay_ear *ear, struct slice message_id, struct slice body);

/* What was heard of an order. */
struct bill_heard pay_ear_heard(const struct pay_ear *ear, const char *order_no);

/* ---- verification ---- */

/* Reads what MySQL has of all bills, judges them and fills the checks of the report; ear may be NULL. Looks again while
 * something is wrong and run->o.settle_ms are not over without a change. Meanwhile it listens. */
ORDERD_MUST_CHECK bool pay_verify(struct run *run, struct bills *bills, struct pay_ear *ear, struct error *err);

/* Says what became of the orders and payments, as facts of the report that add up. different: payments that were sent,
 * each counted once; negative where that is not known. */
void pay_report(struct run *run, const struct bills *bills, int64_t different);

#endif
