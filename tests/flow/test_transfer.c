/* Units between shards: an empty shard gets some from the fullest one, whatever dies on the way, and the books of all
 * shards add up at every moment. */
#include "testing_walk.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "orderd/activity_restock.h"
#include "orderd/activity_store.h"
#include "orderd/activity_transfer.h"
#include "testing_fact.h"
#include "testing_relay.h"

#define TOTAL  80
#define SHARDS 4

/* Buyers of one shard, from number n on, take all that it has. Answers the number of the next buyer. */
static int empty_shard_from(int shard, int n)
{
    for (int64_t left = testing_sale_audit(shard).left; left > 0; n++) {
        if (stock_home_shard(n, SHARDS) != shard)
            continue;
        (void)testing_buy(n, 1);
        left--;
    }
    ck_assert_int_eq(testing_sale_audit(shard).left, 0);
    return n;
}

static int empty_shard(int shard)
{
    return empty_shard_from(shard, 1);
}

static void walk_once(void)
{
    testing_parts_start(TESTING_WALK, 1);
    if (testing_walked().walks == 0)
        testing_wait_walks(1);
    else
        testing_next_walk();
    testing_parts_stop();
}

/* Every shard by itself, and all of them: nothing is lost or made. */
static void assert_books(int64_t between)
{
    int64_t caps = 0, out = 0;

    for (int shard = 0; shard < SHARDS; shard++) {
        struct stock_audit a = testing_sale_audit(shard);

        ck_assert(stock_audit_balances(&a));
        caps += a.cap;
        out += a.out;
    }
    ck_assert_int_eq(out, between);
    ck_assert_int_eq(caps + out, TOTAL);
}

static int64_t transfers(const char *state)
{
    return testing_number("SELECT COUNT(*) FROM stock_transfer WHERE state='%s'", state);
}

START_TEST(an_empty_shard_is_given_some)
{
    int n;

    testing_sale_open(TOTAL, SHARDS, 1);
    n = empty_shard(1);
    walk_once();
    assert_books(0);
    ck_assert_int_eq(testing_sale_audit(1).left, TOTAL / SHARDS / 2);
    ck_assert_int_eq(testing_walked().need_person, 0);
    ck_assert_int_eq(transfers("done"), 1);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_UNITS_MOVED), TOTAL / SHARDS / 2);
    while (stock_home_shard(n, SHARDS) != 1)
        n++;
    ck_assert_int_eq(testing_buy(n, 1).shard, 1); /* who was told "sold out", in his home shard */
    walk_once();
    ck_assert_int_eq(transfers("done"), 1); /* it is not empty any more */
    testing_sale_close();
}
END_TEST

/* Two processes look every second; one of them moves units, once. */
START_TEST(between_two_walks)
{
    testing_sale_open(TOTAL, SHARDS, 1);
    testing_parts_start(TESTING_WALK, 2);
    testing_wait_walks(1);
    (void)empty_shard(1);
    testing_wait(testing_sale_audit(1).left > 0, 10000, "an empty shard is given some");
    testing_parts_stop();
    ck_assert_int_eq(testing_sale_audit(1).left, TOTAL / SHARDS / 2);
    ck_assert_int_eq(testing_walked().walks, 1);
    ck_assert_int_eq(transfers("done"), 1);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_UNITS_MOVED), TOTAL / SHARDS / 2);
    assert_books(0);
    testing_sale_close();
}
END_TEST

static bool somebody_looks(void)
{
    struct error err;
    bool mine;

    ck_assert_ok(activity_level_elect(testing_lane_db, &mine, &err), &err);
    if (mine)
        ck_assert_ok(activity_level_release(testing_lane_db, &err), &err);
    return !mine;
}

/* However many there are: what one look costs is not multiplied. Where it dies, another one looks. */
START_TEST(one_of_them_looks)
{
    pid_t first;

    testing_sale_open(TOTAL, SHARDS, 1);
    walk_once();
    testing_wait(!somebody_looks(), 5000, "the server notices that who looked is gone");
    first = testing_parts_fork(TESTING_WALK, NULL);
    testing_wait(somebody_looks(), 10000, "one looks");
    testing_parts_start(TESTING_WALK, 1);
    testing_parts_kill(first);
    (void)empty_shard(1);
    testing_wait(testing_sale_audit(1).left > 0, 10000, "the other looks");
    ck_assert(somebody_looks());
    testing_walk_again();
    testing_wait_walks(2); /* in which it does not */
    testing_wait(somebody_looks(), 10000, "it looks again");
    testing_parts_stop();
    testing_wait(!somebody_looks(), 5000, "the server notices that who looked is gone");
    testing_sale_close();
}
END_TEST

/* Buyers from number n on take all of a shard but one unit. */
static int empty_but_one(int shard, int n)
{
    for (int64_t left = testing_sale_audit(shard).left; left > 1; n++) {
        if (stock_home_shard(n, SHARDS) != shard)
            continue;
        (void)testing_buy(n, 1);
        left--;
    }
    return n;
}

/* One unit is left in shard 0, whose buyers have all come: each walk offers it to those of the next shard. */
START_TEST(the_last_unit_goes_round)
{
    testing_sale_open(TOTAL, SHARDS, 1);
    for (int shard = 1, n = empty_but_one(0, 1); shard < SHARDS; shard++)
        n = empty_shard_from(shard, n);
    for (int walks = 1; walks <= SHARDS; walks++) {
        walk_once();
        for (int shard = 0; shard < SHARDS; shard++)
            ck_assert_int_eq(testing_sale_audit(shard).left, shard == walks % SHARDS);
        assert_books(0);
    }
    testing_sale_close();
}
END_TEST

/* Two units that nobody buys rest after a whole turn. Then somebody buys one, and the other goes on. */
START_TEST(units_that_nobody_wants_rest)
{
    int n;

    testing_sale_open(TOTAL, SHARDS, 1);
    n = empty_but_one(2, empty_but_one(0, 1));
    n = empty_shard_from(3, empty_shard_from(1, n));
    testing_parts_start(TESTING_WALK, 1);
    testing_wait_walks(1);
    for (int walks = 2; walks <= SHARDS + 2; walks++)
        testing_next_walk();
    ck_assert_int_eq(transfers("done"), 2 * SHARDS);
    n = empty_shard_from(0, n);
    testing_next_walk();
    ck_assert_int_eq(transfers("done"), 2 * SHARDS + 1);
    ck_assert_int_eq(testing_sale_audit(3).left, 1);
    testing_parts_stop();
    assert_books(0);
    testing_sale_close();
}
END_TEST

#ifdef ORDERD_FAULTS
static const struct {
    const char *fault;
    int between; /* units on their way when it died */
} faults[] = {{"transfer.after_plan=kill@1", 0},
              {"transfer.after_lend=kill@1", TOTAL / SHARDS / 2},
              {"transfer.after_borrow=kill@1", 0}};

START_TEST(killed_on_the_way)
{
    testing_sale_open(TOTAL, SHARDS, 1);
    (void)empty_shard(2);
    testing_parts_killed(testing_parts_fork(TESTING_WALK, faults[_i].fault));
    ck_assert_int_eq(transfers("planned"), 1);
    assert_books(faults[_i].between);
    testing_walk_again();
    walk_once();
    assert_books(0);
    ck_assert_int_eq(testing_sale_audit(2).left, TOTAL / SHARDS / 2);
    ck_assert_int_eq(transfers("planned"), 0);
    ck_assert_int_eq(transfers("done"), 1);
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_sale_close();
}
END_TEST

/* The walk has been, and dies between two. Where nothing has moved, whoever looks next does it. */
START_TEST(killed_between_two_walks)
{
    pid_t victim;

    testing_sale_open(TOTAL, SHARDS, 1);
    walk_once();
    victim = testing_parts_fork(TESTING_WALK, faults[_i].fault);
    (void)empty_shard(2);
    testing_parts_killed(victim);
    assert_books(faults[_i].between);
    testing_parts_start(TESTING_WALK, 1);
    if (_i > 0)
        testing_next_walk(); /* what has left its shard waits for that */
    testing_wait(testing_sale_audit(2).left > 0 && transfers("planned") == 0, 10000, "it is ended");
    testing_parts_stop();
    assert_books(0);
    ck_assert_int_eq(testing_sale_audit(2).left, TOTAL / SHARDS / 2);
    ck_assert_int_eq(transfers("done"), 1);
    testing_sale_close();
}
END_TEST
#endif

static void read_activity(struct activity *a)
{
    struct error err;

    ck_assert_ok(activity_store_get(testing_lane_db, testing_sale.id, a, &err), &err);
}

/* Half of it is written down, sold meanwhile, of an older epoch. */
START_TEST(what_cannot_move_any_more_is_void)
{
    const struct activity_move move = {0, 1, TOTAL / SHARDS};
    struct activity a;
    struct error err;
    int64_t units, last = 0;

    testing_sale_open(TOTAL, SHARDS, 1);
    read_activity(&a);
    ck_assert_ok(activity_transfer_write(testing_lane_db, &a, &move, 1, &err), &err);
    (void)empty_shard(0);
    testing_sql("INSERT INTO stock_transfer(activity_id,epoch,from_shard,to_shard,units) VALUES(%" PRId64 ",99,2,3,5)",
                testing_sale.id);
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            ck_assert_ok(activity_transfer_finish(testing_lane_db, testing_sale.kv, &a, &units, &err), &err);
        else
            ck_assert_ok(activity_transfer_repeat(testing_lane_db, testing_sale.kv, &a, &last, &units, &err), &err);
        ck_assert_int_eq(units, 0);
        ck_assert_int_eq(transfers("void"), 2);
        assert_books(0);
    }
    testing_sale_close();
}
END_TEST

/* As a failover does: what one shard did last is gone, the row says that all is done. */
static void lose(int shard, const char *field, int64_t units)
{
    struct stock_keys keys;
    char number[24], back[24];

    stock_keys_of(&keys, testing_sale.id, shard);
    snprintf(number, sizeof number, "%" PRId64, units);
    snprintf(back, sizeof back, "%" PRId64, -units);
    testing_redis_run(testing_sale.kv, "HDEL", keys.text[STOCK_KEY_META], field, NULL);
    testing_redis_run(testing_sale.kv, "HINCRBY", keys.text[STOCK_KEY_META], "cap", number, NULL);
    testing_redis_run(testing_sale.kv, "HINCRBY", keys.text[STOCK_KEY_META], "out", back, NULL);
    testing_redis_run(testing_sale.kv, "INCRBY", keys.text[STOCK_KEY_STOCK], number, NULL);
}

/* half: "in" or "out", of the only row. */
static void forget(int shard, const char *half, int64_t units)
{
    char field[40];

    snprintf(field, sizeof field, "%s:%" PRId64, half, testing_number("SELECT id FROM stock_transfer"));
    lose(shard, field, units);
}

START_TEST(a_forgotten_half_is_repeated)
{
    const int64_t units = TOTAL / SHARDS / 2;
    int from;

    testing_sale_open(TOTAL, SHARDS, 1);
    (void)empty_shard(3);
    walk_once();
    from = (int)testing_number("SELECT from_shard FROM stock_transfer");
    forget(3, "in", -units);
    assert_books(units);
    testing_parts_start(TESTING_WALK, 1);
    testing_next_walk(); /* sees it */
    assert_books(units);
    testing_next_walk(); /* and again: nobody is at it */
    assert_books(0);
    ck_assert_int_eq(testing_sale_audit(3).left, units);
    forget(from, "out", units);
    assert_books(-units);
    testing_next_walk();
    testing_next_walk();
    assert_books(0);
    ck_assert_int_eq(testing_sale_audit(from).left, units);
    testing_parts_stop();
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_sale_close();
}
END_TEST

/* The lend was forgotten, and what it had taken was sold before anybody saw: sold twice, until it leaves all the same.
 */
START_TEST(a_forgotten_lend_that_was_sold_is_owed)
{
    const int64_t units = TOTAL / SHARDS / 2;
    int from, n;

    testing_sale_open(TOTAL, SHARDS, 1);
    n = empty_shard(3);
    walk_once();
    from = (int)testing_number("SELECT from_shard FROM stock_transfer");
    forget(from, "out", units);
    if (_i > 0) /* the row was not marked yet */
        testing_sql("UPDATE stock_transfer SET state='planned',ended_at=NULL");
    (void)empty_shard_from(from, n);
    assert_books(-units);
    testing_parts_start(TESTING_WALK, 1);
    testing_next_walk();
    testing_next_walk();
    testing_next_walk();
    testing_next_walk();
    testing_parts_stop();
    assert_books(0);
    ck_assert_int_eq(transfers("void"), 0);
    ck_assert_int_ge(testing_sale_audit(from).left, 0); /* the debt was paid by the fullest */
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_sale_close();
}
END_TEST

/* MySQL was set back, or its replica that became the primary never had the row: nobody knows whose units they are. */
START_TEST(units_without_a_row_are_told)
{
    testing_sale_open(TOTAL, SHARDS, 1);
    (void)empty_shard(3);
    walk_once();
    forget(3, "in", -TOTAL / SHARDS / 2);
    testing_sql("DELETE FROM stock_transfer");
    testing_parts_start(TESTING_WALK, 1);
    testing_next_walk();
    testing_next_walk();
    testing_next_walk();
    testing_parts_stop();
    assert_books(TOTAL / SHARDS / 2);
    ck_assert_int_gt(testing_walked().need_person, 0);
    testing_sale_close();
}
END_TEST

/* As above: the ids that are given next were not given before. */
START_TEST(an_id_is_not_given_again)
{
    testing_sale_open(TOTAL, SHARDS, 1);
    (void)empty_shard(3);
    walk_once();
    testing_sql("DELETE FROM stock_transfer");
    testing_sql("ALTER TABLE stock_transfer AUTO_INCREMENT=1");
    (void)empty_shard_from(3, 1000000);
    walk_once();
    assert_books(0);
    ck_assert_int_gt(testing_sale_audit(3).left, 0);
    testing_sale_close();
}
END_TEST

/* A restock plans with all units in shards. */
START_TEST(a_restock_ends_it_first)
{
    const struct activity_move move = {0, 1, 6};
    struct activity_cap caps[SHARDS];
    struct activity_restocked done;
    struct stock_transfer half = {.shard = 0, .units = 6, .epoch = 1};
    struct stock_transferred lent;
    struct activity a;
    struct error err;

    testing_sale_open(TOTAL, SHARDS, 1);
    read_activity(&a);
    half.activity = a.id;
    ck_assert_ok(activity_transfer_write(testing_lane_db, &a, &move, 1, &err), &err);
    half.id = testing_number("SELECT id FROM stock_transfer");
    ck_assert_ok(stock_lend(testing_sale.kv, &half, &lent, &err), &err);
    ck_assert_int_eq(lent.code, STOCK_LEND_LENT);
    assert_books(6);
    ck_assert(!activity_restock(testing_lane_db, testing_sale.kv, &a, TOTAL + 8, true, caps, &done, &err));
    ck_assert_int_eq(err.code, ERROR_REFUSED);
    ck_assert_ok(activity_restock(testing_lane_db, testing_sale.kv, &a, TOTAL + 8, false, caps, &done, &err), &err);
    ck_assert_int_eq(transfers("done"), 1);
    ck_assert_int_eq(testing_sale_sum().cap, TOTAL + 8);
    ck_assert_int_eq(testing_sale_sum().left, TOTAL + 8);
    testing_sale_close();
}
END_TEST

/* As testing_sale_audit, of a shard that may owe units. */
static struct stock_audit unbalanced(int shard)
{
    struct stock_audit a;
    struct error err;

    ck_assert_ok(stock_audit(testing_sale.kv, testing_sale.id, shard, &a, &err), &err);
    return a;
}

/* A failover to a replica that has seen none of them: more than one page, of which the second ends it. */
START_TEST(many_are_repeated)
{
    struct activity a;
    struct error err;
    int64_t last = 0, units, all = 0;
    int pages = 0;

    testing_sale_open(TOTAL, SHARDS, 1);
    read_activity(&a);
    testing_sql("INSERT INTO stock_transfer(id,activity_id,epoch,from_shard,to_shard,units,state) SELECT "
                "1+seq,%" PRId64 ",%" PRId32 ",seq MOD 2,1-seq MOD 2,1,'done' FROM " TESTING_NUMBERS " WHERE seq<%d",
                testing_sale.id, a.epoch, ACTIVITY_REPEAT_MAX + 2);
    do {
        ck_assert_ok(activity_transfer_repeat(testing_lane_db, testing_sale.kv, &a, &last, &units, &err), &err);
        ck_assert_int_eq(units, pages == 0 ? ACTIVITY_REPEAT_MAX : pages == 1 ? 2 : 0);
        all += units;
        pages++;
    } while (last > 0);
    ck_assert_int_eq(pages, 3);
    ck_assert_int_eq(all, ACTIVITY_REPEAT_MAX + 2);
    assert_books(0);
    testing_sale_close();
}
END_TEST

/* What was sold of lent units stays sold; more units come all the same. */
START_TEST(a_shard_that_owes_is_restocked)
{
    const struct activity_move move = {0, 1, TOTAL / SHARDS / 2};
    struct activity_cap caps[SHARDS];
    struct activity_restocked done;
    struct activity a;
    struct error err;
    int64_t units, last = 0, cap = 0;

    testing_sale_open(TOTAL, SHARDS, 1);
    read_activity(&a);
    ck_assert_ok(activity_transfer_write(testing_lane_db, &a, &move, 1, &err), &err);
    ck_assert_ok(activity_transfer_finish(testing_lane_db, testing_sale.kv, &a, &units, &err), &err);
    forget(0, "out", move.units);
    (void)empty_shard(0);
    ck_assert_ok(activity_transfer_repeat(testing_lane_db, testing_sale.kv, &a, &last, &units, &err), &err);
    ck_assert_int_eq(unbalanced(0).left, -move.units);
    ck_assert_ok(activity_restock(testing_lane_db, testing_sale.kv, &a, TOTAL + 4, false, caps, &done, &err), &err);
    for (int shard = 0; shard < SHARDS; shard++)
        cap += unbalanced(shard).cap;
    ck_assert_int_eq(cap, TOTAL + 4);
    ck_assert_int_eq(unbalanced(0).left, 4 - move.units); /* it is given all, and owes the rest */
    testing_sale_close();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transfer");
    TCase *c = tcase_create("transfer");

    tcase_set_timeout(c, 60);
    tcase_add_unchecked_fixture(c, NULL, testing_walk_clean);
    tcase_add_test(c, an_empty_shard_is_given_some);
    tcase_add_test(c, between_two_walks);
    tcase_add_test(c, one_of_them_looks);
    tcase_add_test(c, the_last_unit_goes_round);
    tcase_add_test(c, units_that_nobody_wants_rest);
#ifdef ORDERD_FAULTS
    tcase_add_loop_test(c, killed_on_the_way, 0, sizeof faults / sizeof *faults);
    tcase_add_loop_test(c, killed_between_two_walks, 0, sizeof faults / sizeof *faults);
#endif
    tcase_add_test(c, what_cannot_move_any_more_is_void);
    tcase_add_test(c, a_forgotten_half_is_repeated);
    tcase_add_loop_test(c, a_forgotten_lend_that_was_sold_is_owed, 0, 2);
    tcase_add_test(c, units_without_a_row_are_told);
    tcase_add_test(c, an_id_is_not_given_again);
    tcase_add_test(c, a_restock_ends_it_first);
    tcase_add_test(c, many_are_repeated);
    tcase_add_test(c, a_shard_that_owes_is_restocked);
    suite_add_tcase(s, c);
    return testing_main(s);
}
