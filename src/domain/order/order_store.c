#include "order_row.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

static const struct {
    const char *name;
    bool live;
} statuses[] = {
#define X(status, name, live) [ORDER_##status] = {name, live},
#include "orderd/tbl/order_status.h"
#undef X
};

const char *order_status_name(enum order_status status)
{
    CHECK(status < ORDER_STATUS_COUNT);
    return statuses[status].name;
}

bool order_status_live(enum order_status status)
{
    CHECK(status < ORDER_STATUS_COUNT);
    return statuses[status].live;
}

static void add_number(struct strbuf *sql, int64_t n)
{
    strbuf_add_char(sql, ',');
    strbuf_add_i64(sql, n);
}

/* order_no's alphabet has no quote and no backslash, so it needs no escaping. */
static void add_order_no(struct strbuf *sql, const struct order *o)
{
    strbuf_add_char(sql, '\'');
    strbuf_add_str(sql, order_no_checked(o->order_no));
    strbuf_add_char(sql, '\'');
}

/* The values of ORDER_ROW_IDENTITY. */
static void add_identity(struct strbuf *sql, const struct order *o)
{
    add_order_no(sql, o);
    add_number(sql, o->activity_id);
    add_number(sql, o->user_id);
    add_number(sql, o->user_seq);
    add_number(sql, o->sku_id);
    add_number(sql, o->quantity);
    add_number(sql, o->amount);
    add_number(sql, o->shard);
    add_number(sql, o->epoch);
}

/* The number that it replaces, as its own says; only replays have one, and only they are named so. */
static void add_replaces(struct strbuf *sql, const struct order *o)
{
    char before[ORDER_NO_MAX + 1];

    if (order_no_before(o->order_no, before))
        strbuf_addf(sql, ",'%s'", order_no_checked(before));
    else
        strbuf_add_str(sql, ",NULL");
}

static void add_row(struct strbuf *sql, const struct order *o, int64_t pay_timeout_ms)
{
    char reserved_at[32];

    clock_format_sql(reserved_at, sizeof reserved_at, o->reserved_at);
    strbuf_add_char(sql, '(');
    add_identity(sql, o);
    strbuf_add_str(sql, ",'pending','");
    strbuf_add_str(sql, reserved_at);
    strbuf_add_str(sql, "',NOW(6)+INTERVAL ");
    strbuf_add_i64(sql, pay_timeout_ms);
    strbuf_add_str(sql, "000 MICROSECOND");
    add_replaces(sql, o);
    strbuf_add_char(sql, ')');
}

struct take {
    int64_t activity_id, units;
};

static int by_activity(const void *a, const void *b)
{
    const struct take *x = a, *y = b;

    return (x->activity_id > y->activity_id) - (x->activity_id < y->activity_id);
}

static void add_take(struct strbuf *sql, const struct take *take)
{
    strbuf_add_str(sql, ";UPDATE activity_stock SET available=available-");
    strbuf_add_i64(sql, take->units);
    strbuf_add_str(sql, " WHERE activity_id=");
    strbuf_add_i64(sql, take->activity_id);
    strbuf_add_str(sql, " AND takes_orders AND available>=");
    strbuf_add_i64(sql, take->units);
    strbuf_add_str(sql, ";" DB_GUARD_ONE_ROW);
}

/* Summed per activity and in ascending order, in this and every other transaction: no two can wait for each other. */
static void add_takes(struct strbuf *sql, const struct order *const *orders, size_t count)
{
    struct take *takes = check_malloc(count * sizeof *takes);
    size_t last = 0;

    for (size_t i = 0; i < count; i++)
        takes[i] = (struct take){orders[i]->activity_id, orders[i]->quantity};
    qsort(takes, count, sizeof *takes, by_activity);
    for (size_t i = 1; i < count; i++) {
        if (takes[i].activity_id == takes[last].activity_id)
            takes[last].units += takes[i].units;
        else
            takes[++last] = takes[i];
    }
    for (size_t i = 0; i <= last; i++)
        add_take(sql, &takes[i]);
    free(takes);
}

void order_store_add_create(struct strbuf *sql, const struct order *const *orders, const int64_t *pay_timeout_ms,
                            size_t count)
{
    CHECK(count > 0);
    strbuf_add_str(sql,
                   "BEGIN;INSERT INTO orders(" ORDER_ROW_IDENTITY ",status,reserved_at,expires_at,replaces) VALUES");
    for (size_t i = 0; i < count; i++) {
        if (i)
            strbuf_add_char(sql, ',');
        add_row(sql, orders[i], pay_timeout_ms[i]);
    }
}

void order_store_add_stock(struct strbuf *sql, const struct order *const *orders, size_t count)
{
    CHECK(count > 0);
    add_takes(sql, orders, count);
    strbuf_add_str(sql, ";COMMIT");
}

bool order_store_probe(struct db *db, struct error *err)
{
    static const char sql[] =
        "INSERT INTO orders(" ORDER_ROW_IDENTITY ",status,reserved_at,expires_at,replaces) SELECT " ORDER_ROW_IDENTITY
        ",status,reserved_at,expires_at,replaces FROM orders WHERE FALSE;"
        "INSERT INTO local_message(message_key,topic,payload) SELECT message_key,topic,payload FROM local_message "
        "WHERE FALSE;"
        "UPDATE activity_stock SET available=available WHERE FALSE AND takes_orders";

    if (db_run(db, slice_of(sql), err))
        return true;
    db_rollback(db);
    return error_prefix(err, "looking whether orders can be written again");
}

void order_store_add_tombstone(struct strbuf *sql, const struct order *o, enum reason reason, int32_t returned,
                               int32_t forfeited)
{
    char reserved_at[32];

    clock_format_sql(reserved_at, sizeof reserved_at, o->reserved_at);
    strbuf_add_str(sql, "INSERT INTO orders(" ORDER_ROW_IDENTITY
                        ",status,reason,units_returned,units_forfeited,reserved_at,closed_at,replaces) VALUES(");
    add_identity(sql, o);
    strbuf_addf(sql, ",'rejected','%s',%d,%d,'%s',NOW(6)", reason_name(reason), returned, forfeited, reserved_at);
    add_replaces(sql, o);
    strbuf_add_char(sql, ')');
}

enum order_create_step order_store_step(unsigned statement, unsigned added, unsigned activities)
{
    if (statement == 0)
        return ORDER_CREATE_BEGIN;
    if (statement == 1)
        return ORDER_CREATE_INSERT;
    if (statement < 2 + added)
        return ORDER_CREATE_ADDED;
    return statement < 2 + added + 2 * activities ? ORDER_CREATE_STOCK : ORDER_CREATE_COMMIT;
}

static bool status_of(struct slice name, enum order_status *out)
{
    for (int i = 0; i < ORDER_STATUS_COUNT; i++) {
        if (slice_is(name, statuses[i].name)) {
            *out = (enum order_status)i;
            return true;
        }
    }
    return false;
}

static bool narrow(struct slice column, int32_t *out)
{
    int64_t n;

    if (!db_column_i64(column, &n) || n < INT32_MIN || n > INT32_MAX)
        return false;
    *out = (int32_t)n;
    return true;
}

bool order_row_read(const struct slice *c, unsigned count, struct order_row *out)
{
    struct order *o = &out->order;

    *out = (struct order_row){0};
    if (count < ORDER_ROW_COLUMN_COUNT || c[0].len > ORDER_NO_MAX)
        return false;
    memcpy(o->order_no, c[0].ptr, c[0].len);
    return db_column_i64(c[1], &o->activity_id) && db_column_i64(c[2], &o->user_id) && narrow(c[3], &o->user_seq) &&
           db_column_i64(c[4], &o->sku_id) && narrow(c[5], &o->quantity) && db_column_i64(c[6], &o->amount) &&
           narrow(c[7], &o->shard) && narrow(c[8], &o->epoch) && status_of(c[9], &out->status);
}

struct finding {
    order_row_fn on_row;
    void *arg;
};

static bool take_row(void *arg, const struct slice *c, unsigned count)
{
    struct finding *finding = arg;
    struct order_row row;

    if (!order_row_read(c, count, &row))
        return false;
    finding->on_row(finding->arg, &row);
    return true;
}

static void add_mark(struct strbuf *sql, const struct order *o)
{
    strbuf_add_char(sql, '(');
    strbuf_add_i64(sql, o->activity_id);
    add_number(sql, o->user_id);
    add_number(sql, o->user_seq);
    strbuf_add_char(sql, ')');
}

/* Two queries rather than one with OR: each is served by its own unique key. */
static void add_find(struct strbuf *sql, const struct order *const *orders, size_t count)
{
    strbuf_add_str(sql, "SELECT " ORDER_ROW_COLUMNS " FROM orders WHERE order_no IN(");
    for (size_t i = 0; i < count; i++) {
        if (i)
            strbuf_add_char(sql, ',');
        add_order_no(sql, orders[i]);
    }
    strbuf_add_str(sql, ") UNION SELECT " ORDER_ROW_COLUMNS " FROM orders WHERE (activity_id,live_user,user_seq) IN(");
    for (size_t i = 0; i < count; i++) {
        if (i)
            strbuf_add_char(sql, ',');
        add_mark(sql, orders[i]);
    }
    strbuf_add_char(sql, ')');
}

bool order_store_find(struct db *db, const struct order *const *orders, size_t count, order_row_fn on_row, void *arg,
                      struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    struct finding finding = {on_row, arg};
    bool ok;

    CHECK(count > 0);
    add_find(&sql, orders, count);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_row, &finding, err);
    strbuf_release(&sql);
    return ok;
}

static bool take_stock(void *arg, const struct slice *c, unsigned count)
{
    struct order_stock *stock = arg;
    int64_t takes_orders;

    if (count != 3 || !db_column_i64(c[0], &stock->total) || !db_column_i64(c[1], &stock->available) ||
        !db_column_i64(c[2], &takes_orders))
        return false;
    stock->takes_orders = takes_orders != 0;
    stock->exists = true;
    return true;
}

bool order_store_stock(struct db *db, int64_t activity_id, struct order_stock *out, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    *out = (struct order_stock){0};
    strbuf_add_str(&sql, "SELECT total,available,takes_orders FROM activity_stock WHERE activity_id=");
    strbuf_add_i64(&sql, activity_id);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_stock, out, err);
    strbuf_release(&sql);
    return ok;
}
