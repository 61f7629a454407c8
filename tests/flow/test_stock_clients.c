/* Many clients at once, each with random calls for the same orders in several shards and for the same transfers between
 * them, many of them repeated, at once or after others have come between. What the clients were told must be explained
 * by one sequence of effects, each of which was told once; and every shard balances at every instant, as its client
 * sees after each step, with what it lent to others. ORDERD_TEST_SEED repeats what the clients ask. */
#include "testing_stock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/backoff.h"

#define CLIENTS   6
#define SHARDS    3
#define ORDERS    180
#define CALLS     400
#define CAP       45
#define LATER     8 /* calls that are repeated after others */
#define TRANSFERS 60

struct order {
    char order_no[24];
    int shard, quantity;
};

/* Units that are to go from one shard to another. Borrowed only by who knows that they were lent, as orderd does. */
struct transfer {
    int64_t id, units;
    int from, to;
    atomic_bool lent;
};

/* How often each effect was told, of one order or transfer, or in all; and the units of it. */
struct told {
    int taken, adopted, adopted_paid, back, settled, refused;
    int lent, borrowed, short_;
    int64_t lost;                        /* units that a return forfeited */
    int64_t left, held, sold, forfeited; /* what all of it adds up to */
};

struct call {
    enum { NOTHING, DEDUCT, RETURN, SETTLE, ADOPT, ADOPT_PAID, LEND, BORROW } kind;
    const struct order *order; /* of the first five */
    struct transfer *transfer; /* of the last two */
    int64_t forfeited;
};

struct client {
    pthread_t thread;
    struct testing_shard shards[SHARDS]; /* by a connection of its own */
    uint64_t random;
    struct told told[ORDERS], moved[TRANSFERS], reclaimed[SHARDS];
    struct call later[LATER];
};

static struct order orders[ORDERS];
static struct transfer transfers[TRANSFERS];
static struct testing_shard shards[SHARDS];
static struct client clients[CLIENTS];
static atomic_bool over;

static int dice(uint64_t *random, int n)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (int)(*random % (uint64_t)n);
}

/* ---- one call, and what it was told ---- */

static void deduct(struct testing_shard *s, const struct order *o, struct told *t)
{
    if (testing_take(s, o->order_no, 1 + (o - orders), o->quantity).code != STOCK_DEDUCT_TAKEN)
        return;
    t->taken++;
    t->left -= o->quantity;
    t->held += o->quantity;
}

static void give_back(struct testing_shard *s, const struct order *o, int64_t forfeited, struct told *t)
{
    struct stock_giveback g = testing_giveback(s, o->order_no, o->quantity - forfeited);
    struct stock_returned r;

    g.units_forfeited = forfeited;
    r = testing_return(s, &g);
    t->refused += r.code == STOCK_RETURN_REFUSED;
    ck_assert_int_ne(r.code, STOCK_RETURN_CUT); /* nobody has more than was taken */
    if (r.code != STOCK_RETURN_GIVEN_BACK)
        return;
    ck_assert_int_eq(r.back + r.forfeited, o->quantity);
    t->back++;
    t->held -= o->quantity;
    t->left += r.back;
    t->forfeited += r.forfeited;
    t->lost += r.forfeited;
}

static void settle(struct testing_shard *s, const struct order *o, struct told *t)
{
    if (testing_settle(s, o->order_no).code != STOCK_SETTLE_SETTLED)
        return;
    t->settled++;
    t->held -= o->quantity;
    t->sold += o->quantity;
}

static void adopt(struct testing_shard *s, const struct order *o, bool paid, struct told *t)
{
    struct stock_adopted r = testing_adopt(s, o->order_no, 1 + (o - orders), o->quantity,
                                           paid ? STOCK_ADOPT_AS_PAID : STOCK_ADOPT_AS_PENDING);

    if (r.code != STOCK_ADOPT_ADOPTED)
        return;
    ck_assert_int_eq(r.from_left + r.from_forfeited, o->quantity);
    t->adopted += !paid;
    t->adopted_paid += paid;
    t->left -= r.from_left;
    t->forfeited -= r.from_forfeited;
    *(paid ? &t->sold : &t->held) += o->quantity;
}

static struct stock_transfer half_of(const struct testing_shard *s, const struct transfer *x, int64_t units)
{
    return (struct stock_transfer){s->plan.activity, s->plan.shard, x->id, units, s->plan.epoch, false};
}

static void lend(struct testing_shard *s, struct transfer *x, struct told *t)
{
    struct stock_transfer what = half_of(s, x, x->units);
    struct stock_transferred r;
    struct error err;

    ck_assert_ok(stock_lend(s->kv, &what, &r, &err), &err);
    t->lent += r.code == STOCK_LEND_LENT;
    t->short_ += r.code == STOCK_LEND_SHORT;
    if (r.code == STOCK_LEND_SHORT) {
        ck_assert_int_eq(r.units, 0);
        return;
    }
    ck_assert_msg(r.code == STOCK_LEND_LENT || r.code == STOCK_LEND_ALREADY, "lend: %d %s", r.code, r.note);
    ck_assert_int_eq(r.units, x->units);
    atomic_store(&x->lent, true);
}

static void borrow(struct testing_shard *s, struct transfer *x, struct told *t)
{
    bool lent = atomic_load(&x->lent);
    struct stock_transfer what = half_of(s, x, lent ? x->units : 0); /* 0: only asks */
    struct stock_transferred r;
    struct error err;

    ck_assert_ok(stock_borrow(s->kv, &what, &r, &err), &err);
    if (r.code == STOCK_BORROW_NOT_COME) {
        ck_assert(!lent);
        return;
    }
    ck_assert_msg(r.code == STOCK_BORROW_ALREADY || (lent && r.code == STOCK_BORROW_BORROWED), "borrow: %d %s", r.code,
                  r.note);
    ck_assert_int_eq(r.units, x->units);
    t->borrowed += r.code == STOCK_BORROW_BORROWED;
}

static void audit_all_of(struct client *c, int shard)
{
    struct stock_audit a = testing_shard_audit(&c->shards[shard]); /* holds that it balances */

    ck_assert_int_eq(a.cap + a.out, CAP);
}

static void move_units(struct client *c, const struct call *call)
{
    struct transfer *x = call->transfer;
    int shard = call->kind == LEND ? x->from : x->to;

    (call->kind == LEND ? lend : borrow)(&c->shards[shard], x, &c->moved[x - transfers]);
    audit_all_of(c, shard);
}

static void run_call(struct client *c, const struct call *call)
{
    struct testing_shard *s;
    struct told *t;

    if (call->kind >= LEND) {
        move_units(c, call);
        return;
    }
    s = &c->shards[call->order->shard];
    t = &c->told[call->order - orders];
    switch (call->kind) {
    case DEDUCT:
        deduct(s, call->order, t);
        break;
    case RETURN:
        give_back(s, call->order, call->forfeited, t);
        break;
    case SETTLE:
        settle(s, call->order, t);
        break;
    default:
        adopt(s, call->order, call->kind == ADOPT_PAID, t);
    }
    audit_all_of(c, call->order->shard);
}

/* By what it has just seen, which may be over: then nothing happens. */
static void reclaim(struct client *c, int shard)
{
    struct stock_audit a = testing_shard_audit(&c->shards[shard]);

    if (a.forfeited > 0 &&
        testing_reclaim(&c->shards[shard], a.forfeited, a.forfeited).code == STOCK_RECLAIM_RECLAIMED) {
        c->reclaimed[shard].left += a.forfeited;
        c->reclaimed[shard].forfeited -= a.forfeited;
    }
}

/* ---- a client ---- */

static struct call any_call(struct client *c)
{
    static const int often[] = {DEDUCT, DEDUCT, DEDUCT,     DEDUCT, RETURN, RETURN,
                                SETTLE, ADOPT,  ADOPT_PAID, LEND,   BORROW, BORROW};
    const struct order *o = &orders[dice(&c->random, ORDERS)];
    struct call call = {.kind = (unsigned)often[dice(&c->random, sizeof often / sizeof *often)], .order = o};

    if (call.kind >= LEND)
        call.transfer = &transfers[dice(&c->random, TRANSFERS)];

    if (call.kind == RETURN && dice(&c->random, 3) == 0)
        call.forfeited = 1 + dice(&c->random, o->quantity);
    return call;
}

static void *trade(void *data)
{
    struct client *c = data;

    for (int i = 0; i < CALLS; i++) {
        struct call call = any_call(c), *later = &c->later[dice(&c->random, LATER)];

        run_call(c, &call);
        if (dice(&c->random, 4) == 0) /* the answer was lost */
            run_call(c, &call);
        if (later->kind != NOTHING)
            run_call(c, later);
        *later = call;
        if (dice(&c->random, 40) == 0)
            reclaim(c, dice(&c->random, SHARDS));
        if (dice(&c->random, 100) == 0)
            testing_redis_run(c->shards[0].kv, "SCRIPT", "FLUSH", NULL);
    }
    return NULL;
}

/* testing_shard_audit holds that it balances. Units between shards are on sale nowhere, and lost to nobody. */
static void *watch(void *data)
{
    struct testing_shard own[SHARDS];
    struct kv *kv = testing_redis_shared();
    int64_t *looks = data;

    for (int i = 0; i < SHARDS; i++) {
        own[i] = shards[i];
        own[i].kv = kv;
    }
    while (!atomic_load(&over)) {
        for (int i = 0; i < SHARDS; i++, ++*looks) {
            struct stock_audit a = testing_shard_audit(&own[i]);

            ck_assert_int_eq(a.cap + a.out, CAP);
        }
    }
    kv_close(&kv);
    return NULL;
}

/* ---- afterwards ---- */

static struct told sum_of(int order)
{
    struct told sum = {0};

    for (int i = 0; i < CLIENTS; i++) {
        const struct told *t = &clients[i].told[order];

        sum.taken += t->taken;
        sum.adopted += t->adopted;
        sum.adopted_paid += t->adopted_paid;
        sum.back += t->back;
        sum.settled += t->settled;
        sum.refused += t->refused;
        sum.lost += t->lost;
    }
    return sum;
}

static const char *word_of(const struct told *t)
{
    if (t->refused)
        return "refused";
    if (t->settled || t->adopted_paid)
        return "sold";
    if (t->back)
        return t->lost > 0 ? "forfeited" : "returned";
    return NULL;
}

/* What one order can have lived through, however the calls lay. */
static void explain(int order, int *held_orders)
{
    struct told t = sum_of(order);
    int begun = t.taken + t.adopted, ended = t.back + t.settled, shard = orders[order].shard;

    ck_assert_msg(t.refused + begun + t.adopted_paid <= 1, "order %d: taken %d, adopted %d and %d, refused %d", order,
                  t.taken, t.adopted, t.adopted_paid, t.refused);
    ck_assert_msg(ended <= begun, "order %d: begun %d, back %d, settled %d", order, begun, t.back, t.settled);
    held_orders[shard] += begun - ended;
    testing_shard_hash(&shards[shard], STOCK_KEY_GONE, orders[order].order_no, word_of(&t));
}

/* What was lent by one call and borrowed by one, or by none of them; or lent by none, for good. */
static void explain_transfer(const struct transfer *x, int64_t *left)
{
    int lent = 0, borrowed = 0, denied = 0;
    char field[40], number[24];

    for (int i = 0; i < CLIENTS; i++) {
        const struct told *t = &clients[i].moved[x - transfers];

        lent += t->lent;
        borrowed += t->borrowed;
        denied += t->short_;
    }
    ck_assert_msg(lent <= 1 && borrowed <= lent && (lent == 0 || denied == 0),
                  "transfer %d: lent %d times, denied %d times, borrowed %d times", (int)(x - transfers), lent, denied,
                  borrowed);
    left[x->from] -= lent * x->units;
    left[x->to] += borrowed * x->units;
    snprintf(number, sizeof number, "%" PRId64, x->units);
    snprintf(field, sizeof field, "out:%" PRId64, x->id);
    testing_shard_hash(&shards[x->from], STOCK_KEY_META, field, lent ? number : denied ? "0" : NULL);
    snprintf(field, sizeof field, "in:%" PRId64, x->id);
    testing_shard_hash(&shards[x->to], STOCK_KEY_META, field, borrowed ? number : NULL);
}

static void add(struct told *to, const struct told *t)
{
    to->left += t->left;
    to->held += t->held;
    to->sold += t->sold;
    to->forfeited += t->forfeited;
}

static void compare(int shard, int held_orders, int64_t moved)
{
    struct stock_audit a = testing_shard_audit(&shards[shard]);
    struct told sum = {.left = CAP + moved};

    for (int i = 0; i < CLIENTS; i++) {
        add(&sum, &clients[i].reclaimed[shard]);
        for (int order = 0; order < ORDERS; order++) {
            if (orders[order].shard == shard)
                add(&sum, &clients[i].told[order]);
        }
    }
    ck_assert_int_eq(a.left, sum.left);
    ck_assert_int_eq(a.held, sum.held);
    ck_assert_int_eq(a.sold, sum.sold);
    ck_assert_int_eq(a.forfeited, sum.forfeited);
    ck_assert_int_eq(a.held_orders, held_orders);
    ck_assert_int_eq(a.cap, CAP + moved);
    ck_assert_int_eq(a.out, -moved);
}

/* What was left between two shards comes to the second one: then all are whole again. */
static void finish_transfers(void)
{
    int64_t cap = 0, out = 0;

    for (int i = 0; i < TRANSFERS; i++) {
        struct told told = {0};

        if (atomic_load(&transfers[i].lent))
            borrow(&shards[transfers[i].to], &transfers[i], &told);
    }
    for (int i = 0; i < SHARDS; i++) {
        struct stock_audit a = testing_shard_audit(&shards[i]);

        cap += a.cap;
        out += a.out;
    }
    ck_assert_int_eq(out, 0);
    ck_assert_int_eq(cap, SHARDS * CAP);
}

/* Of one to six units, so that some come when too few are left. */
static void prepare_transfers(void)
{
    for (int i = 0; i < TRANSFERS; i++) {
        transfers[i].id = INT64_MAX - i;
        transfers[i].units = 1 + i % 6;
        transfers[i].from = i % SHARDS;
        transfers[i].to = (i + 1 + i / SHARDS % (SHARDS - 1)) % SHARDS;
        atomic_init(&transfers[i].lent, false);
    }
}

static void prepare(uint64_t seed)
{
    for (int i = 0; i < ORDERS; i++) {
        snprintf(orders[i].order_no, sizeof orders[i].order_no, "c%d", i);
        orders[i].shard = i % SHARDS;
        orders[i].quantity = 1 + i / SHARDS % 3;
    }
    prepare_transfers();
    for (int i = 0; i < SHARDS; i++)
        testing_shard_create(&shards[i], testing_redis_shared(), CAP, 3);
    for (int i = 0; i < CLIENTS; i++) {
        struct kv *kv = testing_redis_shared();

        clients[i] = (struct client){.random = seed + (uint64_t)i * 7919 + 1};
        for (int n = 0; n < SHARDS; n++) {
            clients[i].shards[n] = shards[n];
            clients[i].shards[n].kv = kv;
        }
    }
}

START_TEST(each_effect_is_told_once)
{
    const char *given = getenv("ORDERD_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : backoff_seed();
    int held_orders[SHARDS] = {0};
    int64_t looks = 0, moved[SHARDS] = {0};
    pthread_t watcher;

    printf("ORDERD_TEST_SEED=%" PRIu64 "\n", seed);
    fflush(stdout);
    prepare(seed);
    CHECK_ZERO(pthread_create(&watcher, NULL, watch, &looks));
    for (int i = 0; i < CLIENTS; i++)
        CHECK_ZERO(pthread_create(&clients[i].thread, NULL, trade, &clients[i]));
    for (int i = 0; i < CLIENTS; i++)
        CHECK_ZERO(pthread_join(clients[i].thread, NULL));
    atomic_store(&over, true);
    CHECK_ZERO(pthread_join(watcher, NULL));
    ck_assert_int_ge(looks, 3 * SHARDS);
    for (int i = 0; i < ORDERS; i++)
        explain(i, held_orders);
    for (int i = 0; i < TRANSFERS; i++)
        explain_transfer(&transfers[i], moved);
    for (int i = 0; i < SHARDS; i++)
        compare(i, held_orders[i], moved[i]);
    finish_transfers();
    for (int i = 0; i < CLIENTS; i++)
        kv_close(&clients[i].shards[0].kv);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_clients");
    TCase *tc = tcase_create("stock_clients");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, each_effect_is_told_once, 0, 2);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
