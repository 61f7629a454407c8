/* One shard of its own for a test, and what tests say about it. */
#ifndef ORDERD_TESTING_STOCK_H
#define ORDERD_TESTING_STOCK_H

#include "orderd/stock.h"
#include "testing_redis.h"

struct testing_shard {
    struct kv *kv;
    struct stock_plan plan;
    struct stock_keys keys;
};

/* A shard nobody else uses, of an activity id over 2^53, open for sale for ten minutes; not yet in Redis. */
void testing_shard_plan(struct testing_shard *shard, struct kv *kv, int64_t cap, int64_t limit);
void testing_shard_create(struct testing_shard *shard, struct kv *kv, int64_t cap, int64_t limit);

/* Reads it, and fails the test unless it balances and no existing key is without its TTL. */
struct stock_audit testing_shard_audit(struct testing_shard *shard);

struct stock_order testing_order(const struct testing_shard *shard, const char *order_no, int64_t user,
                                 int64_t quantity);
struct stock_deducted testing_deduct(struct testing_shard *shard, const struct stock_order *order);
struct stock_returned testing_return(struct testing_shard *shard, const struct stock_giveback *giveback);

/* The ordinary giveback: mark freed, with reservations. */
struct stock_giveback testing_giveback(const struct testing_shard *shard, const char *order_no, int64_t units);

/* deduct, or return with a mark freed, in one line. */
struct stock_deducted testing_take(struct testing_shard *shard, const char *order_no, int64_t user, int64_t quantity);
struct stock_returned testing_give(struct testing_shard *shard, const char *order_no, int64_t units);

/* Everything that Redis stores under the five keys, as one text: equal before and after means untouched. */
void testing_shard_dump(struct testing_shard *shard, struct strbuf *out);

/* Fails unless the field of that key's hash has this value; NULL: is not there. */
void testing_shard_hash(struct testing_shard *shard, int key, const char *field, const char *value);
void testing_shard_meta(struct testing_shard *shard, const char *field, int64_t value); /* sets it */

#endif
