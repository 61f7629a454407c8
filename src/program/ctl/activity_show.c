/* orderctl activity show: one activity in MySQL and Redis, and the balance between the two (DESIGN invariant 5). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "activity.h"
#include "orderd/activity_apply.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/stock.h"
#include "record.h"

struct view {
    struct activity activity;
    struct activity_standing standing;
    struct order_stock stock;
    int64_t database_now, redis_now; /* less our own clock at that moment, so that they compare */
    bool redis_read;
    int32_t shards;
    struct stock_audit *audits;
    struct activity_look look;
    struct stock_announced announced; /* whether there is something to announce */
};

/* Sums over the shards, and what they say together with MySQL. */
struct balance {
    int32_t present, balanced; /* shards */
    int64_t cap, left, held, sold, forfeited;
    int64_t transfer;      /* units between two shards */
    int64_t live;          /* units in live orders, MySQL */
    int64_t without_order; /* units that Redis has out and MySQL not in live orders; negative: the other way */
    bool shards_good, total_good, database_good, both_good;
};

/* ---- read ---- */

/* Its keys ought to be there. */
static bool on_sale(const struct activity *a)
{
    return a->preheated && a->state != ACTIVITY_SETTLED;
}

static bool read_redis(struct ctl *ctl, struct view *v, struct error *err)
{
    struct stock_announcement announcement = activity_announcement(&v->activity);
    struct kv *kv = ctl_open_kv(ctl, err);
    bool ok;

    announcement.look = true;
    ok = kv && activity_look(kv, &v->activity, v->audits, &v->look, err);
    v->redis_now = v->look.redis_now - clock_mono_ms();
    ok = ok && (!on_sale(&v->activity) || stock_announce(kv, &announcement, &v->announced, err));
    kv_close(&kv);
    return ok;
}

static bool read_database(struct ctl *ctl, struct view *v, struct error *err)
{
    struct db *db = ctl_open_schema(ctl, err);
    bool ok = db && activity_store_get(db, ctl->operand_id, &v->activity, err) &&
              activity_store_standing(db, ctl->operand_id, &v->standing, err) &&
              order_store_stock(db, ctl->operand_id, &v->stock, err) && activity_store_now(db, &v->database_now, err);

    v->database_now -= clock_mono_ms();

    db_close(&db);
    return ok;
}

static void add_shard(struct balance *b, const struct stock_audit *a)
{
    b->present += a->code == STOCK_AUDIT_PRESENT;
    b->balanced += a->code == STOCK_AUDIT_PRESENT && stock_audit_balances(a);
    b->cap += a->cap;
    b->transfer += a->out;
    b->left += a->left;
    b->held += a->held;
    b->sold += a->sold;
    b->forfeited += a->forfeited;
}

/* available = left + held without a live order + forfeited - live units unknown to Redis. The last but one and the last
 * are known here only by their difference: naming the orders takes a comparison order by order. */
static struct balance balance_of(const struct view *v)
{
    const struct activity_standing *s = &v->standing;
    struct balance b = {.live = activity_standing_live(s)};

    for (int32_t i = 0; i < v->shards; i++)
        add_shard(&b, &v->audits[i]);
    b.without_order = b.held + b.sold - b.live;
    b.shards_good = b.balanced == v->shards;
    b.total_good = b.cap + b.transfer == v->activity.total_stock;
    b.database_good = s->has_stock && s->total == v->activity.total_stock && s->total == s->available + b.live;
    b.both_good = s->available == b.left + b.transfer + b.forfeited + b.without_order;
    return b;
}

/* ---- JSON ---- */

static const char *shard_state(const struct stock_audit *a)
{
    return a->code == STOCK_AUDIT_PRESENT ? "present" : a->code == STOCK_AUDIT_NO_SHARD ? "missing" : "damaged";
}

static void record_orders(struct strbuf *line, const struct activity_standing *s)
{
    record_open(line, "orders", '{');
    for (int i = 0; i < ORDER_STATUS_COUNT; i++) {
        record_open(line, order_status_name((enum order_status)i), '{');
        record_number(line, "orders", s->by_status[i].orders);
        record_number(line, "units", s->by_status[i].units);
        record_close(line, '}');
    }
    record_close(line, '}');
}

static void record_shard(struct strbuf *line, const struct view *v, int32_t shard)
{
    const struct stock_audit *a = &v->audits[shard];
    enum shard_fault fault = shard_fault_of(&v->activity, a);

    record_open(line, NULL, '{');
    record_number(line, "shard", shard);
    record_text(line, "state", shard_state(a));
    record_text(line, "fault", fault == SHARD_FINE ? NULL : shard_fault_name(fault));
#define X(field)                                                                                                       \
    if (a->code != STOCK_AUDIT_NO_SHARD)                                                                               \
        record_number(line, #field, a->field);
#include "orderd/tbl/stock_audit.h"
#undef X
    record_bool(line, "balanced", a->code == STOCK_AUDIT_PRESENT && stock_audit_balances(a));
    record_close(line, '}');
}

static void record_balance(struct strbuf *line, const struct balance *b)
{
    record_open(line, "balance", '{');
    record_number(line, "cap", b->cap);
    record_number(line, "left", b->left);
    record_number(line, "in_transfer", b->transfer);
    record_number(line, "held", b->held);
    record_number(line, "sold", b->sold);
    record_number(line, "forfeited", b->forfeited);
    record_number(line, "live", b->live);
    record_number(line, "held_without_live_order", b->without_order > 0 ? b->without_order : 0);
    record_number(line, "live_unknown_to_redis", b->without_order < 0 ? -b->without_order : 0);
    record_bool(line, "shards_good", b->shards_good);
    record_bool(line, "total_good", b->total_good);
    record_bool(line, "database_good", b->database_good);
    record_bool(line, "both_good", b->both_good);
    record_close(line, '}');
}

static bool gates_told(const struct view *v)
{
    return on_sale(&v->activity) && v->announced.code == STOCK_ANNOUNCE_ALREADY;
}

static void record_gates(struct strbuf *line, const struct view *v)
{
    record_open(line, "gates", '{');
    record_bool(line, "told", gates_told(v));
    record_time(line, "changed_at", v->announced.changed_at);
    record_close(line, '}');
}

static void print_record(const struct view *v)
{
    struct strbuf line = STRBUF_INIT;
    struct balance b = balance_of(v);

    record_open(&line, NULL, '{');
    record_open(&line, "activity", '{');
    activity_record(&line, &v->activity);
    record_close(&line, '}');
    record_open(&line, "stock", '{');
    record_number(&line, "total", v->standing.total);
    record_number(&line, "available", v->standing.available);
    record_bool(&line, "takes_orders", v->stock.exists && v->stock.takes_orders);
    record_close(&line, '}');
    record_orders(&line, &v->standing);
    record_bool(&line, "redis_read", v->redis_read);
    if (v->redis_read) {
        record_open(&line, "shards", '[');
        for (int32_t i = 0; i < v->shards; i++)
            record_shard(&line, v, i);
        record_close(&line, ']');
        record_gates(&line, v);
        record_balance(&line, &b);
    } else {
        record_null(&line, "shards");
        record_null(&line, "balance");
    }
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

/* ---- text ---- */

static void print_orders(const struct ctl *ctl, const struct activity_standing *s)
{
    static const char *const heads[] = {"  MYSQL", "-ORDERS", "-UNITS"};
    struct table t;

    table_begin(&t, heads, 3);
    for (int i = 0; i < ORDER_STATUS_COUNT; i++) {
        char name[32];

        snprintf(name, sizeof name, "  %s", order_status_name((enum order_status)i));
        table_text(&t, name, TINT_NONE);
        table_number(&t, s->by_status[i].orders);
        table_number(&t, s->by_status[i].units);
    }
    table_text(&t, "  available", TINT_NONE);
    table_text(&t, "", TINT_NONE);
    table_number(&t, s->available);
    putchar('\n');
    table_end(ctl, &t);
}

/* What is wrong with a shard's numbers is worse than that it is paused or for sale at other times. */
static void add_shard_state(struct table *t, const struct view *v, const struct stock_audit *a)
{
    enum shard_fault fault = shard_fault_of(&v->activity, a);

    if (a->code != STOCK_AUDIT_PRESENT)
        table_text(t, shard_state(a), TINT_BAD);
    else if (!stock_audit_balances(a))
        table_text(t, "does not add up", TINT_BAD);
    else if (fault == SHARD_FINE)
        table_text(t, "adds up", TINT_GOOD);
    else
        table_text(t, shard_fault_what(fault), TINT_BAD);
}

static void add_row(struct table *t, const struct view *v, int32_t shard)
{
    const struct stock_audit *a = &v->audits[shard];
    char name[32];

    snprintf(name, sizeof name, "  shard %" PRId32, shard);
    table_text(t, name, TINT_NONE);
    table_number(t, a->cap);
    table_number(t, a->left);
    table_number(t, a->held);
    table_number(t, a->sold);
    table_number(t, a->forfeited);
    add_shard_state(t, v, a);
}

static void print_shards(const struct ctl *ctl, const struct view *v)
{
    static const char *const heads[] = {"  REDIS", "-CAP =", "-LEFT +", "-HELD +", "-SOLD +", "-FORFEITED", "STATE"};
    struct table t;

    table_begin(&t, heads, 7);
    for (int32_t i = 0; i < v->shards; i++)
        add_row(&t, v, i);
    putchar('\n');
    table_end(ctl, &t);
}

static void begin_verdict(const struct ctl *ctl, bool good)
{
    fputs("  ", stdout);
    print_word(ctl, good ? "yes" : "NO", 5, good ? TINT_GOOD : TINT_BAD);
}

static void print_difference(const struct balance *b)
{
    if (b->without_order > 0)
        printf("       %" PRId64 " units held without a live order: on their way, or to be given back\n",
               b->without_order);
    else if (b->without_order < 0)
        printf("       %" PRId64 " units of live orders that Redis forgot, or gave back early\n", -b->without_order);
}

static void print_balance(const struct ctl *ctl, const struct view *v, const struct balance *b)
{
    const struct activity_standing *s = &v->standing;
    int64_t without = b->without_order > 0 ? b->without_order : 0, unknown = without - b->without_order;

    fputs("\n  Does it add up?\n", stdout);
    begin_verdict(ctl, b->shards_good);
    printf("%" PRId32 " of %" PRId32 " shards: cap = left + held + sold + forfeited\n", b->balanced, v->shards);
    begin_verdict(ctl, b->total_good);
    printf("%" PRId64 " units in all shards, ", b->cap);
    if (b->transfer != 0)
        printf("%" PRId64 " between them, ", b->transfer);
    printf("%" PRId64 " in the activity\n", v->activity.total_stock);
    begin_verdict(ctl, b->database_good);
    printf("MySQL: total %" PRId64 " = available %" PRId64 " + live %" PRId64 "\n", s->total, s->available, b->live);
    begin_verdict(ctl, b->both_good);
    printf("available %" PRId64 " = left %" PRId64 " + held without a live order %" PRId64 " + forfeited %" PRId64
           "\n       - live unknown to Redis %" PRId64 "\n",
           s->available, b->left, without, b->forfeited, unknown);
    print_difference(b);
}

static void print_gates(const struct view *v)
{
    char since[32];

    clock_format_iso(since, sizeof since, v->announced.changed_at);
    if (gates_told(v))
        printf("\n  Gates know that it is %s, since %s.\n", activity_state_name(v->activity.state), since);
    else
        printf(
            "\n  Gates have not been told; a running orderd does that within a\n  second, if its shards are there.\n");
}

static void print_text(const struct ctl *ctl, const struct view *v)
{
    struct balance b = balance_of(v);

    activity_print(ctl, &v->activity);
    print_orders(ctl, &v->standing);
    if (v->stock.exists && !v->stock.takes_orders)
        print_note(ctl, "it takes no more orders");
    if (!v->redis_read)
        return;
    if (b.present == 0 && v->activity.state == ACTIVITY_SETTLED) {
        print_note(ctl, "it is settled, and its keys are gone from Redis");
        return;
    }
    if (b.present == 0 && !v->activity.preheated) {
        print_note(ctl, "it is not in Redis yet; `orderctl activity preheat %" PRId64 "` puts it there",
                   v->activity.id);
        return;
    }
    print_shards(ctl, v);
    print_gates(v);
    if (v->activity.reservations)
        print_balance(ctl, v, &b);
    else
        print_note(ctl, "its web tier takes stock without reservations: Redis has no ledger to compare with");
}

/* Redis opens and closes a sale by its own clock. */
#define CLOCKS_APART_MS 2000

static void warn_of_clocks(const struct view *v)
{
    int64_t apart = v->redis_now - v->database_now;

    if (v->redis_read && (apart > CLOCKS_APART_MS || apart < -CLOCKS_APART_MS))
        print_warning("the clock of Redis is %" PRId64
                      " ms %s that of the database: its sale begins and ends by the former",
                      apart < 0 ? -apart : apart, apart < 0 ? "behind" : "ahead of");
}

bool ctl_activity_show(struct ctl *ctl, struct error *err)
{
    struct view v = {0};
    struct error redis = {0};

    if (!read_database(ctl, &v, err))
        return false;
    v.shards = v.activity.shards;
    v.audits = check_calloc((size_t)v.shards, sizeof *v.audits);
    v.redis_read = read_redis(ctl, &v, &redis);
    if (ctl->json)
        print_record(&v);
    else
        print_text(ctl, &v);
    warn_of_clocks(&v);
    if (!v.redis_read) {
        print_warning("Redis is not shown: %s", redis.text);
        ctl->code = EXIT_PARTIAL;
    }
    free(v.audits);
    return true;
}
