/* What is known of each order number: what was accepted (the truth that everything is measured by), and, during a
 * verification, what was seen of it in MySQL and Redis. One entry per number, 48 bytes and its text (see idset.h).
 *
 * An ids file keeps the accepted part from run to run, one line per order, written before the order is published:
 *   order_no activity user user_seq quantity amount shard epoch reserved_at how
 * One owner. */
#ifndef ORDERD_LOAD_BOOK_H
#define ORDERD_LOAD_BOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "idset.h"
#include "lines.h"
#include "orderd/error.h"
#include "orderd/order.h"

enum book_how {
    BOOK_NOT_ACCEPTED, /* somebody else's order, seen in a database */
    BOOK_RESERVED,     /* deducted in Redis, published */
    BOOK_SILENT,       /* deducted in Redis and never published: a web tier that died in between */
    BOOK_FILLED,       /* published without Redis */
    BOOK_REPLAYED,     /* <accepted order>-r<n>, seen in a database: made again by `orderctl dlq replay` */
};

/* What was seen of an order. */
enum {
    BOOK_ROW = 1 << 0,  /* a row in MySQL ... */
    BOOK_LIVE = 1 << 1, /* ... that is pending or paid ... */
    BOOK_PAID = 1 << 2,
    BOOK_HELD = 1 << 3, /* a reservation in Redis */
    BOOK_GONE = 1 << 4, /* done with in Redis ... */
    BOOK_SOLD = 1 << 5, /* ... as sold */
    BOOK_MARK = 1 << 6, /* its buyer's mark in Redis */
    BOOK_REJECTED = 1 << 7,
    BOOK_REPLACED = 1 << 8, /* a replay of it is live */
};

struct book_entry {
    int64_t user, amount, reserved_at;
    int32_t quantity, epoch; /* of what was accepted */
    uint16_t user_seq, shard;
    uint8_t how;
    uint16_t seen;
    int32_t row_quantity, held_quantity;
};

struct book {
    int64_t activity, sku;
    struct idset ids;
    struct book_entry *entries; /* by index of ids */
    size_t cap;
    size_t accepted[BOOK_REPLAYED + 1]; /* entries by enum book_how */
    int64_t accepted_units;
    struct lines_passed passed; /* of the ids files */
};

void book_init(struct book *book, int64_t activity, int64_t sku);
void book_release(struct book *book);

/* Writes an accepted order down; IDSET_NONE where its number is there already. */
uint32_t book_accept(struct book *book, const struct order *order, enum book_how how);

/* The entry of any order number, added where it is new: as a replay where that is its form and its original was
 * accepted (buyer, quantity and amount are the original's), else as not accepted. */
uint32_t book_see(struct book *book, struct slice order_no);

/* The accepted order that this number, <order>-r<n>, is a replay of; IDSET_NONE: of none. */
uint32_t book_original(const struct book *book, struct slice order_no);

/* What was accepted, with the activity and its SKU. */
void book_order(const struct book *book, uint32_t index, struct order *out);

/* Forgets what was seen, keeps what was accepted. */
void book_forget_seen(struct book *book);

/* ---- ids files ---- */

/* Reads the accepted orders of the book's activity; those of others are passed over and counted (book.passed).
 * INPUT_INVALID names file and line; IO: it cannot be read. A last line without its end (a run that was killed) is
 * passed over, since its order was not yet published; not where it is the first, and no begin of a head: a foreign
 * file. */
ORDERD_MUST_CHECK bool book_read(struct book *book, const char *path, struct error *err);

/* Opens it for appending, made where it is missing, and cuts off a last line without its end. NULL: IO. */
ORDERD_MUST_CHECK FILE *book_open(const char *path, struct error *err);

void book_write(FILE *file, const struct book *book, uint32_t index);

#endif
