/* The orders table: the SQL that writes and reads it. All text comes from here, all values are numbers or order numbers
 * whose alphabet was checked (order_no_valid), so nothing foreign reaches the SQL text unquoted. */
#ifndef ORDERD_ORDER_STORE_H
#define ORDERD_ORDER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include "orderd/arena.h"
#include "orderd/create_queue.h"
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/order.h"

enum order_status {
#define X(status, name, live) ORDER_##status,
#include "orderd/tbl/order_status.h"
#undef X
    ORDER_STATUS_COUNT
};

const char *order_status_name(enum order_status status);

/* Whether such an order counts against the stock and holds its buyer's mark. */
bool order_status_live(enum order_status status);

/* What a stored row says of an order. */
struct order_row {
    struct order order; /* reserved_at is not read */
    enum order_status status;
};

/* One transaction for a batch, as text for one db_run: BEGIN and one INSERT of all orders; whatever statements the
 * caller adds, each with a ';' in front; and by order_store_add_stock for each activity (ascending) the UPDATE of its
 * stock row and a guard, and COMMIT. The hot rows come last, so that they are locked for the shortest time. Orders of
 * one activity need not stand together. pay_timeout_ms[i] belongs to orders[i]; expires_at is computed from it by the
 * database clock. A replay's row says which number it `replaces`. Orders must be valid; order numbers and buyer marks
 * must differ from each other. count > 0. */
void order_store_add_create(struct strbuf *sql, const struct order *const *orders, const int64_t *pay_timeout_ms,
                            size_t count);
void order_store_add_stock(struct strbuf *sql, const struct order *const *orders, size_t count);

/* The same rows in binary, without the BEGIN, which has gone before: a round trip or two more, and a third less work for
 * the server. Only where it takes them so (db_takes_rows). The arena holds what is sent. */
bool order_store_takes_rows(const struct db *db, size_t count);
ORDERD_MUST_CHECK bool order_store_insert_rows(struct db *db, struct arena *arena, const struct order *const *orders,
                                               const int64_t *pay_timeout_ms, size_t count, struct error *err);

/* The INSERT (alone, without BEGIN) of the tombstone of an order that was decided to never become live. */
void order_store_add_tombstone(struct strbuf *sql, const struct order *order, enum reason reason, int32_t returned,
                               int32_t forfeited);

/* Whether these statements could run at all: tables, columns and privileges. Writes nothing. */
ORDERD_MUST_CHECK bool order_store_probe(struct db *db, struct error *err);

/* Which step of that transaction, to which the caller added `added` statements, the statement with this index is. */
enum order_create_step {
    ORDER_CREATE_BEGIN,
    ORDER_CREATE_INSERT,
    ORDER_CREATE_ADDED,
    ORDER_CREATE_STOCK,
    ORDER_CREATE_COMMIT
};
enum order_create_step order_store_step(unsigned statement, unsigned added, unsigned activities);

typedef void (*order_row_fn)(void *arg, const struct order_row *row);

/* Rows that stand in the way of these orders: those with one of their order numbers, and live ones with one of their
 * buyer marks (activity, user, user_seq). Reads what is committed now. */
ORDERD_MUST_CHECK bool order_store_find(struct db *db, const struct order *const *orders, size_t count,
                                        order_row_fn on_row, void *arg, struct error *err);

/* Why the stock row of an activity did not match: what it has, and whether it takes orders at all. */
struct order_stock {
    bool exists, takes_orders;
    int64_t total, available;
};
ORDERD_MUST_CHECK bool order_store_stock(struct db *db, int64_t activity_id, struct order_stock *out,
                                         struct error *err);

/* reserved_at (ms since 1970) of the newest rows, by the create queue that their activities belong to (the first of
 * `queues` at index 0): about what its lanes are working on. 0 where there are none. Of each queue at most `each` rows
 * (1..1000) among the newest queues * each: of one in which little happens there may be none. */
struct order_recent {
    int64_t median[CREATE_QUEUES_MAX], earliest[CREATE_QUEUES_MAX];
};
ORDERD_MUST_CHECK bool order_store_recent(struct db *db, unsigned queues, size_t each, struct order_recent *out,
                                          struct error *err);

#endif
