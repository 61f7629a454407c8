/* orderctl activity show: one activity in MySQL and Redis, and the balance between the two (DESIGN invariant 5). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "activity.h"
#include "orderd/check.h"
#include "orderd/stock.h"
#include "record.h"

struct view {
    struct activity activity;
    struct activity_standing standing;
    bool redis_read;
    int32_t shards;
    struct stock_audit *audits;
};

/* Sums over the shards, and what they say together with MySQL. */
struct balance {
    int32_t present, balanced; /* shards */
    int64_t cap, left, held, sold, forfeited;
    int64_t live;          /* units in live orders, MySQL */
    int64_t without_order; /* units that Redis has out and MySQL not in live orders; negative: the other way */
    bool shards_good, total_good, database_good, both_good;
};

/* ---- read ---- */

static bool read_redis(struct ctl *ctl, struct view *v, struct error *err)
{
    struct kv *kv = ctl_open_kv(ctl, err);
    bool ok = kv != NULL;

    for (int32_t i = 0; i < v->shards && ok; i++)
        ok = stock_audit(kv, v->activity.id, i, &v->audits[i], err);
    kv_close(&kv);
    return ok;
}

static bool read_database(struct ctl *ctl, struct view *v, struct error *err)
{
    struct db *db = ctl_open_schema(ctl, err);
    bool ok = db && activity_store_get(db, ctl->operand_id, &v->activity, err) &&
              activity_store_standing(db, ctl->operand_id, &v->standing, err);

    db_close(&db);
    return ok;
}

static void add_shard(struct balance *b, const struct stock_audit *a)
{
    b->present += a->code == STOCK_AUDIT_PRESENT;
    b->balanced += a->code == STOCK_AUDIT_PRESENT && stock_audit_balances(a);
    b->cap += a->cap;
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
    b.total_good = b.cap == v->activity.total_stock;
    b.database_good = s->has_stock && s->total == v->activity.total_stock && s->total == s->available + b.live;
    b.both_good = s->available == b.left + b.forfeited + b.without_order;
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

static void record_shard(struct strbuf *line, int32_t shard, const struct stock_audit *a)
{
    record_open(line, NULL, '{');
    record_number(line, "shard", shard);
    record_text(line, "state", shard_state(a));
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
    record_close(&line, '}');
    record_orders(&line, &v->standing);
    record_bool(&line, "redis_read", v->redis_read);
    if (v->redis_read) {
        record_open(&line, "shards", '[');
        for (int32_t i = 0; i < v->shards; i++)
            record_shard(&line, i, &v->audits[i]);
        record_close(&line, ']');
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

static void add_row(struct table *t, int32_t shard, const struct stock_audit *a)
{
    char name[32];
    bool good = a->code == STOCK_AUDIT_PRESENT && stock_audit_balances(a);

    snprintf(name, sizeof name, "  shard %" PRId32, shard);
    table_text(t, name, TINT_NONE);
    table_number(t, a->cap);
    table_number(t, a->left);
    table_number(t, a->held);
    table_number(t, a->sold);
    table_number(t, a->forfeited);
    table_text(t,
               a->code != STOCK_AUDIT_PRESENT ? shard_state(a)
               : good                         ? "adds up"
                                              : "does not add up",
               good ? TINT_GOOD : TINT_BAD);
}

static void print_shards(const struct ctl *ctl, const struct view *v)
{
    static const char *const heads[] = {"  REDIS", "-CAP =", "-LEFT +", "-HELD +", "-SOLD +", "-FORFEITED", "STATE"};
    struct table t;

    table_begin(&t, heads, 7);
    for (int32_t i = 0; i < v->shards; i++)
        add_row(&t, i, &v->audits[i]);
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
    printf("%" PRId64 " units in all shards, %" PRId64 " in the activity\n", b->cap, v->activity.total_stock);
    begin_verdict(ctl, b->database_good);
    printf("MySQL: total %" PRId64 " = available %" PRId64 " + live %" PRId64 "\n", s->total, s->available, b->live);
    begin_verdict(ctl, b->both_good);
    printf("available %" PRId64 " = left %" PRId64 " + held without a live order %" PRId64 " + forfeited %" PRId64
           "\n       - live unknown to Redis %" PRId64 "\n",
           s->available, b->left, without, b->forfeited, unknown);
    print_difference(b);
}

static void print_text(const struct ctl *ctl, const struct view *v)
{
    struct balance b = balance_of(v);

    activity_print(ctl, &v->activity);
    print_orders(ctl, &v->standing);
    if (!v->redis_read)
        return;
    if (b.present == 0 && !v->activity.preheated) {
        print_note(ctl, "it is not in Redis yet; `orderctl activity preheat %" PRId64 "` puts it there",
                   v->activity.id);
        return;
    }
    print_shards(ctl, v);
    if (v->activity.reservations)
        print_balance(ctl, v, &b);
    else
        print_note(ctl, "its web tier takes stock without reservations: Redis has no ledger to compare with");
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
    if (!v.redis_read) {
        print_warning("Redis is not shown: %s", redis.text);
        ctl->code = EXIT_PARTIAL;
    }
    free(v.audits);
    return true;
}
