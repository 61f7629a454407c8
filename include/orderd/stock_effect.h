/* The payloads of the local messages `stock.return` and `stock.settle`: what stock_return_many and stock_settle_many
 * are called with, as JSON. One row carries the orders of one transaction. Written in the transaction that decided it,
 * run by the relay, repeatable.
 *
 *     stock.return  {"v":1,"orders":[{"order_no","activity_id","shard","epoch","units_back","units_forfeited",
 *                    "free_mark","reservations"}, ...]}
 *     stock.settle  {"v":1,"orders":[{"order_no","activity_id","shard"}, ...]}
 *
 * Rows of older releases, which hold one order's members without "v" and "orders", are read as well. */
#ifndef ORDERD_STOCK_EFFECT_H
#define ORDERD_STOCK_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include "orderd/arena.h"
#include "orderd/order.h"
#include "orderd/stock.h"
#include "orderd/strbuf.h"

/* Append the payload of 1 to ORDER_LIST_MAX orders, whose numbers must be valid. */
void stock_effect_encode(const struct stock_giveback *list, size_t count, struct strbuf *out);
void stock_effect_encode_paid(const struct stock_paid *list, size_t count, struct strbuf *out);

/* *list, its *count entries and the order numbers they point to live in the arena. false, with INPUT_INVALID and what
 * is wrong, where the payload is not one of ours: any bytes of any length are safe. One entry that is bad spoils all.
 */
ORDERD_MUST_CHECK bool stock_effect_decode(struct slice payload, struct arena *arena, struct stock_giveback **list,
                                           size_t *count, struct error *err);
ORDERD_MUST_CHECK bool stock_effect_decode_paid(struct slice payload, struct arena *arena, struct stock_paid **list,
                                                size_t *count, struct error *err);

#endif
