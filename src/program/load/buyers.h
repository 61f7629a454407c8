/* Distinct buyers, each of whom tries once to take units by the deduct script. One thread. Where the sale has another
 * epoch by now, they read it from what is announced to gates, and ask again. An attempt whose answer was
 * lost is made again with the same order number until Redis answers: code 2 then says that it had been taken. */
#ifndef ORDERD_LOAD_BUYERS_H
#define ORDERD_LOAD_BUYERS_H

#include <stdbool.h>
#include <stdint.h>
#include "order_no.h"
#include "orderd/activity.h"
#include "orderd/conf.h"
#include "orderd/order.h"
#include "orderd/stock.h"
#include "spread.h"

struct buyers_plan {
    const struct activity *activity;
    int64_t first_user, count;
    int32_t quantity;
    double per_second; /* 0: as fast as it goes */
    struct order_no_maker maker;
    void (*accepted)(void *arg, const struct order *order); /* once for each code 1 or 2 */
    void *arg;
};

/* Answers by code of tbl/script_code.h, in the order of its rows. */
enum {
#define X(script, code, number, name, sentence) BUYERS_##script##_##code,
#include "orderd/tbl/script_code.h"
#undef X
    BUYERS_CODES
};

struct buyers_totals {
    int64_t begun, answered;
    uint64_t codes[BUYERS_CODES];
    uint64_t failed; /* Redis refused the call itself; `failure` says how, the first time */
    uint64_t again;  /* calls repeated because their outcome was unknown, or Redis was away */
    uint64_t outages;
    struct error failure;
    struct spread latency; /* of the round trip that answered */
};

struct buyers;

struct buyers *buyers_create(const struct conf *conf, const struct buyers_plan *plan);
void buyers_destroy(struct buyers **buyers);

/* Makes what attempts are due, in one round trip of at most redis.command_timeout; or tries to connect. */
void buyers_turn(struct buyers *buyers);

/* No new ones; those whose outcome is unknown are still asked for. */
void buyers_stop(struct buyers *buyers);

bool buyers_done(const struct buyers *buyers);
size_t buyers_unknown(const struct buyers *buyers);                            /* attempts in hand */
int64_t buyers_wait_us(const struct buyers *buyers);                           /* until there is something to do */
int64_t buyers_down_ms(const struct buyers *buyers, const struct error **why); /* 0: Redis answers */
const struct buyers_totals *buyers_totals(const struct buyers *buyers);

/* Name and sentence of a row of `codes`; NULL where it is none of deduct's. */
const char *buyers_code_name(int row);
const char *buyers_code_sentence(int row);

#endif
