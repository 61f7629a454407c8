/* New orders in binary: the rows that order_store_add_create writes as text, for batches that are worth a round trip
 * more. */
#include "order_row.h"

#include <string.h>

#include "orderd/clock.h"

/* The places of the ?, in their order. */
enum column {
    ORDER_NO,
    ACTIVITY,
    USER,
    USER_SEQ,
    SKU,
    QUANTITY,
    AMOUNT,
    SHARD,
    EPOCH,
    RESERVED_AT,
    EXPIRES_IN, /* microseconds */
    REPLACES,
    COLUMN_COUNT
};

static const char insert[] = "INSERT INTO orders(" ORDER_ROW_IDENTITY ",status,reserved_at,expires_at,replaces) "
                             "VALUES(?,?,?,?,?,?,?,?,?,'pending',?,NOW(6)+INTERVAL ? MICROSECOND,?)";

#define RESERVED_AT_SIZE 32

/* One value of each column for each order. */
struct rows {
    struct arena *arena;
    int64_t *numbers[COLUMN_COUNT]; /* NULL: its values are texts */
    const char **texts[COLUMN_COUNT];
    unsigned long *lengths[COLUMN_COUNT];
    char *nulls[COLUMN_COUNT];
};

static bool is_text(enum column c)
{
    return c == ORDER_NO || c == RESERVED_AT || c == REPLACES;
}

static void make_room(struct rows *rows, size_t count)
{
    for (enum column c = 0; c < COLUMN_COUNT; c++) {
        if (is_text(c)) {
            rows->texts[c] = arena_alloc(rows->arena, count * sizeof *rows->texts[c]);
            rows->lengths[c] = arena_alloc(rows->arena, count * sizeof *rows->lengths[c]);
            rows->nulls[c] = arena_zalloc(rows->arena, count);
        } else {
            rows->numbers[c] = arena_alloc(rows->arena, count * sizeof *rows->numbers[c]);
        }
    }
}

static void set_text(struct rows *rows, enum column c, size_t i, const char *text)
{
    rows->texts[c][i] = text;
    rows->lengths[c][i] = strlen(text);
}

static void set_replaces(struct rows *rows, size_t i, const struct order *o)
{
    char *before = arena_alloc(rows->arena, ORDER_NO_MAX + 1);

    if (!order_no_before(o->order_no, before)) {
        before[0] = '\0';
        rows->nulls[REPLACES][i] = 1;
    }
    set_text(rows, REPLACES, i, before);
}

static void set_row(struct rows *rows, size_t i, const struct order *o, int64_t pay_timeout_ms)
{
    char *reserved_at = arena_alloc(rows->arena, RESERVED_AT_SIZE);

    clock_format_sql(reserved_at, RESERVED_AT_SIZE, o->reserved_at);
    set_text(rows, ORDER_NO, i, order_no_checked(o->order_no));
    rows->numbers[ACTIVITY][i] = o->activity_id;
    rows->numbers[USER][i] = o->user_id;
    rows->numbers[USER_SEQ][i] = o->user_seq;
    rows->numbers[SKU][i] = o->sku_id;
    rows->numbers[QUANTITY][i] = o->quantity;
    rows->numbers[AMOUNT][i] = o->amount;
    rows->numbers[SHARD][i] = o->shard;
    rows->numbers[EPOCH][i] = o->epoch;
    set_text(rows, RESERVED_AT, i, reserved_at);
    rows->numbers[EXPIRES_IN][i] = pay_timeout_ms * 1000;
    set_replaces(rows, i, o);
}

bool order_store_takes_rows(const struct db *db, size_t count)
{
    return db_takes_rows(db, COLUMN_COUNT, count);
}

bool order_store_insert_rows(struct db *db, struct arena *arena, const struct order *const *orders,
                             const int64_t *pay_timeout_ms, size_t count, struct error *err)
{
    struct rows rows = {.arena = arena};
    struct db_column columns[COLUMN_COUNT];

    make_room(&rows, count);
    for (size_t i = 0; i < count; i++)
        set_row(&rows, i, orders[i], pay_timeout_ms[i]);
    for (enum column c = 0; c < COLUMN_COUNT; c++)
        columns[c] = (struct db_column){.values = is_text(c) ? (const void *)rows.texts[c] : rows.numbers[c],
                                        .lengths = rows.lengths[c],
                                        .nulls = rows.nulls[c]};
    return db_insert_rows(db, insert, columns, COLUMN_COUNT, count, err);
}
