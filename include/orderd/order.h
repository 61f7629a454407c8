/* An order as it travels in `order.create` (DESIGN section 2) and as it stands in the orders table. */
#ifndef ORDERD_ORDER_H
#define ORDERD_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/reason.h"
#include "orderd/strbuf.h"

#define ORDER_BODY_MAX        ((size_t)16 * 1024)
#define ORDER_NO_BASE_MAX     28 /* without the -r<n> of a replay */
#define ORDER_REPLAY_MAX      9999
#define ORDER_NO_MAX          34
#define ORDER_QUANTITY_MAX    100000
#define ORDER_AMOUNT_MAX      INT64_C(999999999999999)
#define ORDER_USER_SEQ_MAX    9999
#define ORDER_SHARD_MAX       1023
#define ORDER_EPOCH_MAX       999999999
#define ORDER_LIST_MAX        500 /* orders that one message names: a timer, an event, a return of stock */
#define ORDER_RESERVED_AT_MIN INT64_C(1262304000000) /* 2010: below are seconds taken for milliseconds */
#define ORDER_RESERVED_AT_MAX INT64_C(4102444800000) /* 2100 */

struct order {
    char order_no[ORDER_NO_MAX + 1];
    int64_t activity_id, user_id, sku_id; /* 1 .. 2^63-1 */
    int32_t user_seq;                     /* 0 .. ORDER_USER_SEQ_MAX */
    int32_t quantity;                     /* 1 .. ORDER_QUANTITY_MAX */
    int64_t amount;                       /* minor units, 0 .. ORDER_AMOUNT_MAX */
    int32_t shard;                        /* 0 .. ORDER_SHARD_MAX */
    int32_t epoch;                        /* 1 .. ORDER_EPOCH_MAX */
    int64_t reserved_at;                  /* ms since 1970, UTC */
};

/* 1 to 28 of [0-9A-Za-z_], optionally followed by -r<n>, 1 <= n <= ORDER_REPLAY_MAX without leading zero. */
bool order_no_valid(struct slice text);

/* order_no itself. Ends the process (CHECK) where it is not valid: so every number passes through here on its way into
 * the text of a statement, where it stands without escaping. */
const char *order_no_checked(const char *order_no);

/* The numbers of one purchase follow each other: A, A-r1, A-r2, ... false: it is the first of them, or the last. Pure;
 * order_no must be valid. */
bool order_no_before(const char *order_no, char out[ORDER_NO_MAX + 1]);
bool order_no_after(const char *order_no, char out[ORDER_NO_MAX + 1]);

/* Strict: one JSON object in UTF-8, every member present once with its type and range, members that are not ours
 * ignored, nothing behind it. Answers REASON_NONE and fills *out, or the reason why not, with a sentence about the
 * member in detail (detail_size >= 1). Pure; any thread. body may be any bytes of any length. */
enum reason order_decode(struct slice body, struct order *out, char *detail, size_t detail_size);

/* The message of this order; the inverse of order_decode. */
void order_encode(const struct order *order, struct strbuf *out);

/* Whether two messages of one order number ask for the same order: activity, user, SKU, quantity and amount. */
bool order_same_content(const struct order *a, const struct order *b);

/* What differs of these, for people: "quantity is 2 in the message and 1 in the row, amount ..."; placed: shard and
 * user_seq too. Cut where out is too small (size >= 1); "" where nothing differs. Pure. */
void order_differences(const struct order *a, const char *in_a, const struct order *b, const char *in_b, bool placed,
                       char *out, size_t size);

#endif
