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

/* The order's row, of the shard's epoch, as deduct would have answered for a buyer's first mark. */
struct stock_row testing_row(const struct testing_shard *shard, const char *order_no, int64_t user, int64_t quantity,
                             enum stock_adopt_as as);
struct stock_adopted testing_adopt_row(struct testing_shard *shard, const struct stock_row *row);
struct stock_adopted testing_adopt(struct testing_shard *shard, const char *order_no, int64_t user, int64_t quantity,
                                   enum stock_adopt_as as);
struct stock_settled testing_settle(struct testing_shard *shard, const char *order_no);

/* By the shard's epoch. */
struct stock_reclaimed testing_reclaim(struct testing_shard *shard, int64_t forfeited_seen, int64_t units);
struct stock_restocked testing_restock(struct testing_shard *shard, int64_t cap_seen, int64_t cap);
struct stock_extended testing_extend(struct testing_shard *shard, int64_t ends_at, int64_t expire_at);
struct stock_extended testing_window(struct testing_shard *shard, int64_t starts_at, int64_t ends_at); /* 0: leave */
int testing_pause_shard(struct testing_shard *shard, bool paused);                                     /* the code */
struct stock_announced testing_announce(struct testing_shard *shard, const char *state, int shards);   /* by its plan */
struct stock_rebuilt testing_rebuild(struct testing_shard *shard); /* with its plan */
struct stock_removed testing_remove(struct testing_shard *shard);

/* Gives back nothing of the order: all its units are forfeited. */
void testing_forfeit(struct testing_shard *shard, const char *order_no, int64_t units);

/* Everything that Redis stores under the five keys, as one text: equal before and after means untouched. */
void testing_shard_dump(struct testing_shard *shard, struct strbuf *out);

bool testing_shard_is(struct testing_shard *shard, const struct strbuf *dump); /* still the same */

/* Fails unless the field of that key's hash has this value; NULL: is not there. */
void testing_shard_hash(struct testing_shard *shard, int key, const char *field, const char *value);
void testing_shard_meta(struct testing_shard *shard, const char *field, int64_t value); /* sets it */

#endif
