#include "testing_balance.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/activity_store.h"
#include "orderd/clock.h"
#include "orderd/exitcode.h"
#include "orderd/order_store.h"

int64_t sale;
char ledger_text[24];
struct kv *ledger_kv;
struct conf *ledger_conf;
char ledger_found[32768], ledger_repaired[32768], ledger_verdict[16];

static struct error err;

/* ---- fixture ---- */

static void must(void)
{
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%d: %s", testing_ctl.code, testing_ctl.err);
}

static void set_up(const char *option)
{
    static int64_t n;

    testing_ctl_setup();
    CTL("migrate", "up");
    must();
    sale = INT64_C(8000000000) + (int64_t)getpid() * 100 + n++;
    snprintf(ledger_text, sizeof ledger_text, "%" PRId64, sale);
    ledger_conf = testing_conf(NULL);
    ledger_kv = kv_open(ledger_conf, "test_reconcile", &err);
    ck_assert_ok(ledger_kv != NULL, &err);
    CTL("activity", "create", "--id", ledger_text, "--title", "Winter sale", "--sku", "77", "--price", "9900",
        "--currency", "CNY", "--stock", "100", "--shards", "2", "--limit", "5", "--starts", "now", "--ends", "+2h",
        option);
    must();
    CTL("activity", "approve", ledger_text);
    must();
    CTL("activity", "preheat", ledger_text);
    must();
    testing_ctl_run_sql("UPDATE activity SET state='running' WHERE id=%" PRId64, sale);
}

void ledger_setup(void)
{
    set_up("--quiet");
}

void ledger_setup_no_rebuy(void)
{
    set_up("--no-rebuy");
}

void ledger_setup_no_reservations(void)
{
    set_up("--no-reservations");
}

void ledger_teardown(void)
{
    for (int shard = 0; shard < SALE_SHARDS; shard++) {
        for (int key = 0; key < STOCK_KEY_COUNT; key++)
            testing_redis_run(ledger_kv, "DEL", ledger_key(shard, key), (char *)NULL);
    }
    kv_close(&ledger_kv);
    conf_destroy(&ledger_conf);
    testing_ctl_teardown();
}

/* ---- orders ---- */

const char *ledger_key(int shard, int key)
{
    static struct stock_keys keys[8];
    static unsigned next;
    struct stock_keys *k = &keys[next++ % 8];

    stock_keys_of(k, sale, shard);
    return k->text[key];
}

static int64_t last_taken;

void ledger_grow_old(void)
{
    testing_wait(ledger_audit(0).now > last_taken + 2, 2000, "the clock of Redis to go on");
}

struct order ledger_take(const char *order_no, int64_t user, int quantity)
{
    struct order o = {.activity_id = sale, .user_id = user, .sku_id = 77, .quantity = quantity, .epoch = 1};
    struct stock_order take;
    struct stock_deducted answer;

    snprintf(o.order_no, sizeof o.order_no, "%s", order_no);
    o.amount = 9900 * (int64_t)quantity;
    o.shard = stock_home_shard(user, SALE_SHARDS);
    take = (struct stock_order){sale, o.shard, slice_of(o.order_no), user, quantity, o.amount, 1};
    ck_assert_ok(stock_deduct(ledger_kv, &take, &answer, &err), &err);
    ck_assert_msg(answer.code == STOCK_DEDUCT_TAKEN, "%s: %s", order_no,
                  stock_code_name(STOCK_SCRIPT_DEDUCT, answer.code));
    o.user_seq = answer.user_seq;
    o.reserved_at = last_taken = answer.reserved_at;
    return o;
}

static void take_in_database(const struct order *o, int sign)
{
    testing_ctl_run_sql("UPDATE activity_stock SET available=available-%d WHERE activity_id=%" PRId64,
                        sign * o->quantity, o->activity_id);
}

void ledger_row(const struct order *o, const char *status)
{
    bool live = strcmp(status, "pending") == 0 || strcmp(status, "paid") == 0;
    bool rejected = strcmp(status, "rejected") == 0;
    char at[32];

    clock_format_sql(at, sizeof at, o->reserved_at);
    testing_ctl_run_sql(
        "INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,status,reason,"
        "units_returned,reserved_at,created_at,expires_at,paid_at,closed_at) VALUES('%s',%" PRId64 ",%" PRId64
        ",%d,77,%d,%" PRId64 ",%d,%d,'%s','%s',%d,'%s',UTC_TIMESTAMP(6)-INTERVAL 1 HOUR,UTC_TIMESTAMP(6)+INTERVAL 1 "
        "HOUR,%s,%s)",
        o->order_no, o->activity_id, o->user_id, o->user_seq, o->quantity, o->amount, o->shard, o->epoch, status,
        rejected ? "stock_short" : "", live ? 0 : o->quantity, at,
        strcmp(status, "paid") == 0 ? "UTC_TIMESTAMP(6)-INTERVAL 1 HOUR" : "NULL",
        live ? "NULL" : "UTC_TIMESTAMP(6)-INTERVAL 1 HOUR");
    if (live)
        take_in_database(o, 1);
}

void ledger_close(const struct order *o)
{
    testing_ctl_run_sql("UPDATE orders SET status='closed',units_returned=quantity,"
                        "closed_at=UTC_TIMESTAMP(6)-INTERVAL 1 HOUR WHERE order_no='%s'",
                        o->order_no);
    take_in_database(o, -1);
}

void ledger_pay(const struct order *o)
{
    testing_ctl_run_sql("UPDATE orders SET status='paid',paid_at=UTC_TIMESTAMP(6)-INTERVAL 1 HOUR WHERE order_no='%s'",
                        o->order_no);
}

void ledger_return(const struct order *o)
{
    struct stock_giveback g = {.activity = sale,
                               .shard = o->shard,
                               .order_no = slice_of(o->order_no),
                               .units_back = o->quantity,
                               .epoch = o->epoch,
                               .free_mark = true,
                               .reservations = true};
    struct stock_returned answer;

    ck_assert_ok(stock_return(ledger_kv, &g, &answer, &err), &err);
    ck_assert_int_eq(answer.code, STOCK_RETURN_GIVEN_BACK);
}

void ledger_settle(const struct order *o)
{
    struct stock_paid paid = {sale, o->shard, slice_of(o->order_no)};
    struct stock_settled answer;

    ck_assert_ok(stock_settle(ledger_kv, &paid, &answer, &err), &err);
    ck_assert_int_eq(answer.code, STOCK_SETTLE_SETTLED);
}

struct order ledger_pending(const char *order_no, int64_t user, int quantity)
{
    struct order o = ledger_take(order_no, user, quantity);

    ledger_row(&o, "pending");
    return o;
}

struct order ledger_paid(const char *order_no, int64_t user, int quantity)
{
    struct order o = ledger_pending(order_no, user, quantity);

    ledger_pay(&o);
    ledger_settle(&o);
    return o;
}

struct order ledger_closed(const char *order_no, int64_t user, int quantity)
{
    struct order o = ledger_pending(order_no, user, quantity);

    ledger_close(&o);
    ledger_return(&o);
    return o;
}

struct stock_audit ledger_audit(int shard)
{
    struct stock_audit a;

    ck_assert_ok(stock_audit(ledger_kv, sale, shard, &a, &err), &err);
    return a;
}

/* ---- dump ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted, since a hash has no order. */
static void dump_hash(struct strbuf *out, const char *key)
{
    struct kv_reply *all = testing_redis_do(ledger_kv, "HGETALL", key, (char *)NULL);
    size_t count = kv_reply_count(all) / 2;
    char **lines = check_calloc(count + 1, sizeof *lines);

    for (size_t i = 0; i < count; i++) {
        struct slice f = kv_reply_text(kv_reply_at(all, 2 * i)), v = kv_reply_text(kv_reply_at(all, 2 * i + 1));
        int len = (int)(f.len + v.len + 3);

        lines[i] = check_malloc((size_t)len);
        snprintf(lines[i], (size_t)len, "%.*s=%.*s", (int)f.len, f.ptr, (int)v.len, v.ptr);
    }
    qsort(lines, count, sizeof *lines, by_text);
    for (size_t i = 0; i < count; i++) {
        strbuf_addf(out, "%s %s\n", key, lines[i]);
        free(lines[i]);
    }
    free(lines);
    kv_reply_free(&all);
}

static bool dump_row(void *arg, const struct slice *c, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        strbuf_add(arg, c[i].ptr ? c[i].ptr : "", c[i].len);
        strbuf_add_char(arg, i + 1 < count ? '|' : '\n');
    }
    return true;
}

char *ledger_dump(void)
{
    static const char *const tables[] = {"SELECT * FROM orders ORDER BY id", "SELECT * FROM activity_stock",
                                         "SELECT * FROM local_message ORDER BY id", "SELECT * FROM activity"};
    struct strbuf out = STRBUF_INIT;

    for (int shard = 0; shard < SALE_SHARDS; shard++) {
        struct kv_reply *left = testing_redis_do(ledger_kv, "GET", ledger_key(shard, STOCK_KEY_STOCK), (char *)NULL);

        strbuf_add_slice(&out, kv_reply_text(left));
        strbuf_add_char(&out, '\n');
        kv_reply_free(&left);
        for (int key = STOCK_KEY_HELD; key < STOCK_KEY_COUNT; key++)
            dump_hash(&out, ledger_key(shard, key));
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        ck_assert_ok(db_query(testing_ctl_db, slice_of(tables[i]), dump_row, &out, &err), &err);
    return out.data;
}

/* ---- reconcile ---- */

static const char *subject_of(const json_t *finding, char out[64])
{
    const char *order_no = json_string_value(json_object_get(finding, "order_no"));
    const json_t *shard = json_object_get(finding, "shard");

    if (order_no)
        snprintf(out, 64, "%s", order_no);
    else if (shard)
        snprintf(out, 64, "shard:%d", (int)json_integer_value(shard));
    else
        snprintf(out, 64, "-");
    return out;
}

struct lines {
    char *list[2000];
    size_t count;
};

static void add_line(struct lines *lines, const char *fmt, ...) ORDERD_PRINTF(2, 3);

static void add_line(struct lines *lines, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ck_assert_uint_lt(lines->count, sizeof lines->list / sizeof *lines->list);
    lines->list[lines->count++] = check_strdup(text);
}

static void join(struct lines *lines, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    qsort(lines->list, lines->count, sizeof *lines->list, by_text);
    for (size_t i = 0; i < lines->count; i++) {
        len += (size_t)snprintf(out + len, size - len, "%s\n", lines->list[i]);
        ck_assert_uint_lt(len, size);
        free(lines->list[i]);
    }
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    ck_assert_msg(text != NULL, "no text %s", name);
    return text;
}

static void read_line(const json_t *line, struct lines *found, struct lines *repaired)
{
    const char *record = text_of(line, "record");
    char subject[64];

    if (strcmp(record, "finding") == 0)
        add_line(found, "%s %s %d", text_of(line, "kind"), subject_of(line, subject),
                 (int)json_integer_value(json_object_get(line, "units")));
    else if (strcmp(record, "repair") == 0)
        add_line(repaired, "%s %s %s", text_of(line, "result"), text_of(line, "kind"), subject_of(line, subject));
    else
        snprintf(ledger_verdict, sizeof ledger_verdict, "%s", text_of(line, "verdict"));
}

void ledger_reconcile(const char *const *argv)
{
    static struct lines found, repaired;

    found.count = repaired.count = 0;
    ledger_verdict[0] = '\0';
    program_start(&testing_ctl, argv);
    program_wait(&testing_ctl);
    for (const char *at = testing_ctl.out; *at;) {
        size_t len = strcspn(at, "\n");
        json_error_t where;
        json_t *line = json_loadb(at, len, 0, &where);

        ck_assert_msg(line != NULL, "%s: %.200s", where.text, at);
        read_line(line, &found, &repaired);
        json_decref(line);
        at += len + (at[len] == '\n');
    }
    join(&found, ledger_found, sizeof ledger_found);
    join(&repaired, ledger_repaired, sizeof ledger_repaired);
}
