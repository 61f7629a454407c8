/* Reconciling a sale that goes on: what is on its way is never taken for a gap, what was planted is found among it by
 * number, and mended while the sale goes on. Also pages, bounds and the log of runs. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/activity_store.h"
#include "orderd/balance.h"
#include "orderd/exitcode.h"
#include "orderd/order_store.h"
#include "orderd/stock.h"
#include "orderd/thread.h"
#include "testing_balance.h"
#include "testing_fact.h"

/* ---- a sale that goes on ---- */

#define SELLERS 3

struct seller {
    struct thread thread;
    int number;
    struct db *db;
    struct kv *kv;
    struct error err;
    int orders;
};

static atomic_bool stopping;

static bool run_sql(struct seller *s, const char *fmt, ...) ORDERD_PRINTF(2, 3);

static bool run_sql(struct seller *s, const char *fmt, ...)
{
    char sql[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(sql, sizeof sql, fmt, ap);
    va_end(ap);
    for (int tries = 0; tries < 20; tries++) {
        if (db_run(s->db, slice_of(sql), &s->err))
            return true;
        db_rollback(s->db);
        if (s->err.code != ERROR_DB_CONFLICT)
            return false;
    }
    return false;
}

static bool create(struct seller *s, const struct order *o)
{
    const struct order *list[] = {o};
    int64_t timeout = 900000;
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    order_store_add_create(&sql, list, &timeout, 1);
    order_store_add_stock(&sql, list, 1);
    ok = run_sql(s, "%s", sql.data);
    strbuf_release(&sql);
    return ok;
}

static bool pay(struct seller *s, const struct order *o)
{
    struct stock_paid paid = {sale, o->shard, slice_of(o->order_no)};
    struct stock_settled answer;

    return run_sql(s, "UPDATE orders SET status='paid',paid_at=UTC_TIMESTAMP(6) WHERE order_no='%s'", o->order_no) &&
           stock_settle(s->kv, &paid, &answer, &s->err) && answer.code == STOCK_SETTLE_SETTLED;
}

static bool close_it(struct seller *s, const struct order *o)
{
    struct stock_giveback g = {.activity = sale,
                               .shard = o->shard,
                               .order_no = slice_of(o->order_no),
                               .units_back = o->quantity,
                               .epoch = 1,
                               .free_mark = true,
                               .reservations = true};
    struct stock_returned answer;

    return run_sql(s,
                   "BEGIN;UPDATE orders SET status='closed',units_returned=quantity,closed_at=UTC_TIMESTAMP(6) WHERE "
                   "order_no='%s';UPDATE activity_stock SET available=available+%d WHERE activity_id=%" PRId64
                   ";COMMIT",
                   o->order_no, o->quantity, sale) &&
           stock_return(s->kv, &g, &answer, &s->err) && answer.code == STOCK_RETURN_GIVEN_BACK;
}

/* One order from the deduct to its end; every fifth is bought for good, until little is left. */
static bool sell(struct seller *s, int n)
{
    struct order o = {.activity_id = sale, .user_id = 1000 + s->number * 100000 + n % 500, .sku_id = 77, .quantity = 1};
    struct stock_order take;
    struct stock_deducted answer;

    o.epoch = 1;
    o.amount = 9900;
    o.shard = stock_home_shard(o.user_id, SALE_SHARDS);
    snprintf(o.order_no, sizeof o.order_no, "S%d_%d", s->number, n);
    take = (struct stock_order){sale, o.shard, slice_of(o.order_no), o.user_id, 1, o.amount, 1};
    if (!stock_deduct(s->kv, &take, &answer, &s->err))
        return false;
    if (answer.code != STOCK_DEDUCT_TAKEN)
        return answer.code == STOCK_DEDUCT_SHORT || answer.code == STOCK_DEDUCT_OVER_LIMIT;
    o.user_seq = answer.user_seq;
    o.reserved_at = answer.reserved_at;
    s->orders++;
    if (!create(s, &o))
        return false;
    return n % 100 < 2 ? pay(s, &o) : close_it(s, &o);
}

static void sell_all(void *data)
{
    struct seller *s = data;
    int n = 0;

    while (!atomic_load(&stopping) && sell(s, n))
        n++;
    if (!atomic_load(&stopping))
        fprintf(stderr, "seller %d stopped at order %d: %s\n", s->number, n, s->err.text);
}

static struct seller sellers[SELLERS];

static void open_shop(void)
{
    struct conf conf = *ledger_conf;

    conf.mysql_database = testing_ctl_schema;
    atomic_store(&stopping, false);
    for (int i = 0; i < SELLERS; i++) {
        struct seller *s = &sellers[i];

        *s = (struct seller){.number = i, .thread = {.name = "seller", .run = sell_all}};
        s->thread.data = s;
        s->db = db_open(&conf, &s->err);
        ck_assert_ok(s->db != NULL, &s->err);
        s->kv = kv_open(&conf, "seller", &s->err);
        ck_assert_ok(s->kv != NULL, &s->err);
        thread_start(&s->thread);
    }
}

/* Answers how many orders they sold. */
static int close_shop(void)
{
    int orders = 0;

    atomic_store(&stopping, true);
    for (int i = 0; i < SELLERS; i++) {
        thread_join(&sellers[i].thread);
        db_close(&sellers[i].db);
        kv_close(&sellers[i].kv);
        orders += sellers[i].orders;
    }
    return orders;
}

/* Nothing but what is on its way: no run calls for anybody, and no order is named as a gap, until a hundred orders were
 * sold meanwhile. The window is wide enough for a busy machine; what is looked at twice does not depend on it. */
START_TEST(running_sale_has_no_gaps)
{
    int runs = 0;
    int64_t until = testing_now_ms() + 4000;

    open_shop();
    while (testing_now_ms() < until || runs < 3 || testing_ctl_number("SELECT COUNT(*) FROM orders") <= 100) {
        RECONCILE_IN("10s", "--pause", "0");
        ck_assert_msg(testing_ctl.code == EXIT_OK || testing_ctl.code == EXIT_PARTIAL, "%s%s", testing_ctl.out,
                      testing_ctl.err);
        ck_assert_msg(strstr(testing_ctl.out, "\"gaps\":0"), "%s", testing_ctl.out);
        runs++;
    }
    ck_assert_int_gt(close_shop(), 100);
    RECONCILE_IN("1ms", "--quiet");
    FOUND(EXIT_OK, "clean", "");
}
END_TEST

/* The same with the repair at work all the time: it has nothing to do and does nothing. */
START_TEST(repair_leaves_a_running_sale_alone)
{
    int64_t until = testing_now_ms() + 2500;

    open_shop();
    while (testing_now_ms() < until) {
        RECONCILE_IN("10s", "--pause", "0", "--repair");
        ck_assert_msg(testing_ctl.code == EXIT_OK || testing_ctl.code == EXIT_PARTIAL, "%s%s", testing_ctl.out,
                      testing_ctl.err);
        ck_assert_str_eq(ledger_repaired, "");
    }
    close_shop();
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 0);
    CLEAN();
}
END_TEST

/* MySQL's stock set right in the middle of creates and closes: not a unit is lost or won by that. */
START_TEST(stock_row_is_mended_in_a_running_sale)
{
    open_shop();
    for (int i = 0; i < 5; i++) {
        testing_ctl_run_sql("UPDATE activity_stock SET available=available-%d", 3 + i);
        RECONCILE_IN("10s", "--pause", "0", "--repair");
        ck_assert_str_eq(ledger_repaired, "mended db_unbalanced -\n");
        ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    }
    close_shop();
    CLEAN();
}
END_TEST

/* Planted before the shop opens, found by number in the middle of it, and nothing else is. */
START_TEST(planted_faults_in_a_running_sale)
{
    struct order closed, forgotten;
    char units[16];

    ledger_take("LOST1", 11, 1);
    ledger_take("LOST2", 12, 2);
    closed = ledger_pending("CLOSED1", 13, 1);
    ledger_close(&closed);
    forgotten = ledger_pending("FORGOT1", 14, 2);
    snprintf(units, sizeof units, "-%d", forgotten.quantity);
    ledger_redis(forgotten.shard, STOCK_KEY_HELD, "HDEL", "FORGOT1");
    ledger_redis(forgotten.shard, STOCK_KEY_BUYERS, "HDEL", "14:0");
    ledger_redis(forgotten.shard, STOCK_KEY_META, "HINCRBY", "held", units);
    ledger_redis(forgotten.shard, STOCK_KEY_STOCK, "INCRBY", units + 1);
    testing_redis_run(ledger_kv, "HSET", ledger_key(stock_home_shard(11, SALE_SHARDS), STOCK_KEY_HELD), "LOST1",
                      "11|0|1|9900|1|1764400000123", (char *)NULL);
    testing_redis_run(ledger_kv, "HSET", ledger_key(stock_home_shard(12, SALE_SHARDS), STOCK_KEY_HELD), "LOST2",
                      "12|0|2|19800|1|1764400000123", (char *)NULL);
    open_shop();
    RECONCILE_IN("10s", "--pause", "0", "--repair");
    ck_assert_str_eq(ledger_repaired, "mended lost_message LOST1\nmended lost_message LOST2\nmended return_due "
                                      "CLOSED1\nmended unknown_reservation FORGOT1\n");
    RECONCILE_IN("10s", "--pause", "0", "--repair");
    ck_assert_str_eq(ledger_repaired, "");
    close_shop();
    RECONCILE("--quiet");
    FOUND(EXIT_PARTIAL, "explained", "message_waiting LOST1 1\nmessage_waiting LOST2 2\n");
}
END_TEST

/* ---- pages ---- */

#define MANY 60

struct met {
    int count[FINDING_KIND_COUNT];
    char lost[MANY + 1], unknown[MANY + 1]; /* by number: how often */
    size_t most;
};

static bool meet(void *arg, const struct balance_finding *findings, size_t count)
{
    struct met *met = arg;

    met->most = count > met->most ? count : met->most;
    for (size_t i = 0; i < count; i++) {
        const struct balance_finding *f = &findings[i];
        int n = f->order.order_no[0] ? atoi(f->order.order_no + 1) : 0;

        met->count[f->kind]++;
        met->lost[n] = (char)(met->lost[n] + (f->kind == FINDING_LOST_MESSAGE));
        met->unknown[n] = (char)(met->unknown[n] + (f->kind == FINDING_UNKNOWN_RESERVATION));
    }
    return true;
}

static bool seen_enough(void *arg, const struct balance_finding *findings, size_t count)
{
    (void)findings;
    (void)count;
    ++*(int *)arg;
    return false;
}

static const struct balance_options by_three = {
    .parts = BALANCE_ALL, .window = {.in_flight_ms = 1}, .worked_to = INT64_MAX, .page = 3};

/* A small hash is shown in one piece whatever the page; once it had a long value it never is again. */
static void show_in_pages(void)
{
    static const char text[] =
        "a value that is too long for the compact form of a hash, which ends at 64 bytes by default";

    for (int shard = 0; shard < SALE_SHARDS; shard++) {
        ledger_redis(shard, STOCK_KEY_HELD, "HSET", "long", text);
        ledger_redis(shard, STOCK_KEY_HELD, "HDEL", "long");
    }
}

/* Whatever the page, every order is looked at, and each gap met once. Users buy twice, so a page ends inside of one. */
START_TEST(every_order_on_some_page)
{
    struct balance_report report;
    struct met met = {.most = 0};
    struct error err;

    for (int n = 1; n <= MANY; n++) {
        char order_no[16], seq[32];
        struct order o;

        snprintf(order_no, sizeof order_no, "N%d", n);
        o = ledger_take(order_no, n / 2 + 1, 1);
        if (n % 3 == 0)
            continue; /* lost */
        ledger_row(&o, "pending");
        snprintf(seq, sizeof seq, "%" PRId64 ":%d", o.user_id, o.user_seq);
        if (n % 3 == 1) {
            ledger_close(&o);
            ledger_return(&o);
            continue;
        }
        ledger_redis(o.shard, STOCK_KEY_HELD, "HDEL", order_no);
        ledger_redis(o.shard, STOCK_KEY_BUYERS, "HDEL", seq);
        ledger_redis(o.shard, STOCK_KEY_META, "HINCRBY", "held", "-1");
        ledger_redis(o.shard, STOCK_KEY_STOCK, "INCRBY", "1");
    }
    show_in_pages();
    ledger_grow_old();
    ck_assert_ok(balance_scan(testing_ctl_db, ledger_kv, sale, &by_three, meet, &met, &report, &err), &err);
    ck_assert(report.complete);
    ck_assert_uint_le(met.most, 3);
    for (int n = 1; n <= MANY; n++) {
        ck_assert_msg(met.lost[n] == (n % 3 == 0), "N%d was met %d times as lost", n, met.lost[n]);
        ck_assert_msg(met.unknown[n] == (n % 3 == 2), "N%d was met %d times as unknown", n, met.unknown[n]);
    }
    ck_assert_int_eq(report.held_orders, MANY / 3);
    ck_assert_int_eq(report.live_orders, MANY / 3);
    ck_assert_int_eq(report.done_orders, MANY / 3);
    ck_assert_int_eq(balance_findings(&report), 2 * MANY / 3);
    ck_assert(report.sums.quiet);
    ck_assert_int_eq(report.sums.held_without_live, MANY / 3);
    ck_assert_int_eq(report.sums.live_unknown, MANY / 3);
    ck_assert_int_eq(report.sums.unexplained, 0);
}
END_TEST

static bool stop_at_once(void *arg)
{
    (void)arg;
    return true;
}

START_TEST(ends_when_told)
{
    struct balance_options stopped = by_three;
    struct balance_report report;
    struct error err;
    int calls = 0;

    for (int n = 1; n <= 5; n++) {
        char order_no[16];

        snprintf(order_no, sizeof order_no, "N%d", n);
        ledger_take(order_no, n, 1);
    }
    ck_assert_ok(balance_scan(testing_ctl_db, ledger_kv, sale, &by_three, seen_enough, &calls, &report, &err), &err);
    ck_assert(!report.complete);
    ck_assert_int_eq(calls, 1);
    stopped.stop = stop_at_once;
    calls = 0;
    ck_assert_ok(balance_scan(testing_ctl_db, ledger_kv, sale, &stopped, seen_enough, &calls, &report, &err), &err);
    ck_assert(!report.complete);
    ck_assert(!balance_scan(testing_ctl_db, ledger_kv, sale + 50, &by_three, seen_enough, &calls, &report, &err));
    ck_assert_int_eq(err.code, ERROR_REFUSED);
}
END_TEST

#define MILLIONS 45000 /* more than two slices */

/* Sums of more live orders than one statement reads; buyers at the ends of the slices have more than one. */
START_TEST(sums_in_slices)
{
    const struct balance_options sums = {.parts = BALANCE_SUMS, .window = by_three.window, .page = 100};
    struct met met = {.most = 0};
    struct activity_standing standing;
    struct balance_report report;
    struct error err;

    testing_ctl_run_sql("INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,"
                        "status,reserved_at) SELECT CONCAT('m',seq),%" PRId64
                        ",1000+seq DIV 3,seq MOD 3,77,1+seq MOD 2,9900,0,1,IF(seq MOD 9=8,'closed','paid'),"
                        "'2026-01-01' FROM " TESTING_NUMBERS " WHERE seq<%d",
                        sale, MILLIONS);
    ck_assert_ok(balance_scan(testing_ctl_db, ledger_kv, sale, &sums, meet, &met, &report, &err), &err);
    ck_assert_int_eq(report.sums.live, testing_ctl_number("SELECT SUM(quantity) FROM orders WHERE status='paid'"));
    ck_assert_int_eq(report.sums.live, 60000); /* 40,000 orders */
    ck_assert_ok(activity_store_standing(testing_ctl_db, sale, &standing, &err), &err);
    ck_assert_int_eq(standing.by_status[ORDER_PAID].orders, 40000);
    ck_assert_int_eq(standing.by_status[ORDER_PAID].units, 60000);
    ck_assert_int_eq(standing.by_status[ORDER_CLOSED].orders, 5000);
    ck_assert_int_eq(standing.by_status[ORDER_PENDING].orders + standing.by_status[ORDER_REJECTED].orders, 0);
    testing_ctl_run_sql("UPDATE orders SET status='closed' WHERE user_id>1000+%d", MILLIONS / 9);
    ck_assert_ok(balance_scan(testing_ctl_db, ledger_kv, sale, &sums, meet, &met, &report, &err), &err);
    ck_assert_int_eq(report.sums.live, testing_ctl_number("SELECT SUM(quantity) FROM orders WHERE status='paid'"));
}
END_TEST

/* A backlog is older than the window, but the lanes are not there yet. */
START_TEST(backlog)
{
    struct balance_options options = by_three;
    struct balance_report report;
    struct met met = {.most = 0};
    struct error err;
    struct order first = ledger_take("N1", 1, 1), old = first;
    struct create_queues queues = {.used = 1, .count = 1};
    int64_t frontier;

    ledger_take("N2", 2, 1);
    ck_assert_ok(balance_frontier(testing_ctl_db, &queues, 0, 100, &frontier, &err), &err);
    ck_assert(frontier == INT64_MAX);
    ck_assert_ok(balance_frontier(testing_ctl_db, &queues, 5, 100, &frontier, &err), &err);
    ck_assert_int_eq(frontier, 0); /* no row at all: nothing is known */
    options.worked_to = frontier;
    ledger_grow_old();
    ck_assert_ok(balance_scan(testing_ctl_db, ledger_kv, sale, &options, meet, &met, &report, &err), &err);
    ck_assert_int_eq(met.count[FINDING_BACKLOG], 2);
    ck_assert_int_eq(balance_gaps(&report), 0);
    old.reserved_at -= 60000;
    ledger_row(&old, "pending");
    ck_assert_ok(balance_frontier(testing_ctl_db, &queues, 5, 100, &frontier, &err), &err);
    ck_assert_int_eq(frontier, old.reserved_at - 100);
    queues.waiting[0] = queues.sum = 3;
    ck_assert_ok(balance_frontier(testing_ctl_db, &queues, 0, 100, &frontier, &err), &err);
    ck_assert_int_eq(frontier, old.reserved_at - 100);
    /* In a queue of which no lane has made a row, or that is not used any more: how old that is nobody knows. */
    queues = (struct create_queues){.used = 2, .count = 2, .sum = 3};
    queues.waiting[create_queue_number(first.activity_id, 2) % 2] = 3;
    ck_assert_ok(balance_frontier(testing_ctl_db, &queues, 0, 100, &frontier, &err), &err);
    ck_assert_int_eq(frontier, 0);
}
END_TEST

/* ---- repair: bounded, and right whatever has changed since ---- */

START_TEST(bounded)
{
    for (int n = 1; n <= 5; n++) {
        char order_no[16];

        snprintf(order_no, sizeof order_no, "N%d", n);
        ledger_take(order_no, n, 1);
    }
    CTL("reconcile", "--activity", ledger_text, "--in-flight", "1ms", "--repair", "--max", "2", "--limit", "3");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "2 of 5 were taken; run it again for the rest"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "and 2 more; --limit 0 lists them all"));
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 2);
    RECONCILE("--repair");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 5);
}
END_TEST

struct kept {
    struct balance_finding list[20];
    size_t count;
};

static bool keep(void *arg, const struct balance_finding *findings, size_t count)
{
    struct kept *kept = arg;

    for (size_t i = 0; i < count && kept->count < 20; i++)
        kept->list[kept->count++] = findings[i];
    return true;
}

/* Findings that are old by now: everything was put right, or went on, in between. */
START_TEST(stale_findings)
{
    struct order lost = ledger_take("N1", 1, 1), closed = ledger_pending("N2", 2, 1), paid = ledger_pending("N3", 3, 1);
    struct order marked = ledger_pending("N4", 4, 1), dropped = ledger_take("N5", 5, 1);
    struct balance_outcome outcomes[20];
    struct balance_report report;
    struct kept kept = {.count = 0};
    struct error err;
    char *before, *after;

    ledger_close(&closed);
    ledger_pay(&paid);
    ledger_redis(marked.shard, STOCK_KEY_BUYERS, "HDEL", "4:0");
    ledger_grow_old();
    ck_assert_ok(balance_scan(testing_ctl_db, ledger_kv, sale, &by_three, keep, &kept, &report, &err), &err);
    ck_assert_uint_eq(kept.count, 5);
    ledger_row(&lost, "pending");
    ledger_return(&closed);
    ledger_settle(&paid);
    ledger_close(&marked);
    ledger_return(&marked);
    ledger_row(&dropped, "rejected");
    ledger_return(&dropped);
    before = ledger_dump();
    ck_assert_ok(balance_repair(testing_ctl_db, ledger_kv, &report.activity, kept.list, kept.count, outcomes, &err),
                 &err);
    for (size_t i = 0; i < kept.count; i++)
        ck_assert_msg(outcomes[i].mended == BALANCE_MENDED_BEFORE, "%s: %s", finding_name(kept.list[i].kind),
                      outcomes[i].text);
    after = ledger_dump();
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    CLEAN();
}
END_TEST

/* Two who found the same lost message send it once. */
START_TEST(two_walkers)
{
    struct balance_outcome outcomes[20];
    struct balance_report report;
    struct kept first = {.count = 0}, second = {.count = 0};
    struct error err;

    ledger_take("N1", 1, 1);
    ledger_grow_old();
    for (int n = 1; n <= 3; n++) {
        first.count = second.count = 0;
        ck_assert_ok(balance_scan(testing_ctl_db, ledger_kv, sale, &by_three, keep, &first, &report, &err), &err);
        ck_assert_ok(balance_scan(testing_ctl_db, ledger_kv, sale, &by_three, keep, &second, &report, &err), &err);
        ck_assert_uint_eq(first.count + second.count, 2);
        ck_assert_ok(balance_repair(testing_ctl_db, ledger_kv, &report.activity, first.list, 1, outcomes, &err), &err);
        ck_assert_int_eq(outcomes[0].mended, BALANCE_MENDED);
        testing_ctl_run_sql("UPDATE local_message SET state='sent',sent_at=UTC_TIMESTAMP(6)-INTERVAL 1 MINUTE");
        ck_assert_ok(balance_repair(testing_ctl_db, ledger_kv, &report.activity, second.list, 1, outcomes, &err), &err);
        ck_assert_int_eq(outcomes[0].mended, BALANCE_MENDED_BEFORE);
        ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND "
                                            "headers='{\"orderd-recovery\":%d}'",
                                            n),
                         1);
    }
}
END_TEST

/* ---- the log, and what people see ---- */

START_TEST(runs_are_logged)
{
    ledger_take("N1", 1, 1);
    RECONCILE("--quiet");
    RECONCILE("--repair", "--dry-run", "--quiet");
    RECONCILE("--repair");
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM reconcile_run WHERE activity_id=%" PRId64
                           " AND ended_at IS NOT NULL AND verdict='explained' AND findings=1 AND "
                           "who LIKE '_%%@%%' AND in_flight_ms=1 AND listed LIKE '%%\"order_no\":\"N1\"%%' "
                           "AND JSON_VALID(listed) AND JSON_VALID(found) AND JSON_VALID(sums)",
                           sale),
        3);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM reconcile_run WHERE mode='look' AND repaired=0"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM reconcile_run WHERE mode='dry_run' AND repaired=0"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM reconcile_run WHERE mode='repair' AND repaired=1"), 1);
}
END_TEST

/* Killed between mending and writing it down: what was mended stays mended, the run is there without a verdict, and
 * the next one finds nothing to do. */
START_TEST(killed_after_the_repair)
{
    ledger_take("N1", 1, 1);
    program_faults("reconcile.after_repair=kill@1");
    RECONCILE("--repair");
    program_faults(NULL);
    ck_assert_int_eq(testing_ctl.code, 128 + 9);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM reconcile_run WHERE verdict IS NULL AND ended_at IS "
                                        "NULL AND mode='repair'"),
                     1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 1);
    RECONCILE("--repair");
    FOUND(EXIT_PARTIAL, "explained", "message_waiting N1 1\n");
    ck_assert_str_eq(ledger_repaired, "");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 1);
}
END_TEST

static void fits(void)
{
    for (const char *line = testing_ctl.out; *line; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n'))
        ck_assert_msg(strcspn(line, "\n") <= 80, "over 80 columns: %.100s", line);
}

START_TEST(what_people_see)
{
    struct order o = ledger_pending("N2", 2, 1);

    ledger_take("1812345678901234567", 1, 1);
    ledger_close(&o);
    CTL("reconcile", "--activity", ledger_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    fits();
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "return_due: reserved, but the order is closed or rejected"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "closed less than 2m"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "Messages waiting: order.create "));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "closed 60 min ago, in Redis held\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "explained: nothing is wrong that does not mend by itself"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "--repair --dry-run` shows what can be mended"));
    CTL("reconcile", "--activity", ledger_text, "--repair");
    fits();
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "Afterwards:"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "1 units given back"));
    ledger_redis(0, STOCK_KEY_STOCK, "DECRBY", "1");
    CTL("reconcile", "--quiet");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    fits();
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "BROKEN: somebody must act"));
}
END_TEST

START_TEST(mistakes)
{
    CTL("reconcile", "--dry-run");
    CTL_SAYS(EXIT_USAGE, "orderctl: reconcile: --dry-run is for --repair; without both, nothing is changed anyway; see "
                         "`orderctl reconcile --help`\n");
    CTL("reconcile", "--activity", "999");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "there is no activity 999"));
    testing_ctl_run_sql("UPDATE activity SET state='settled'");
    CTL("reconcile");
    CTL_SAYS(EXIT_OK, "orderctl: no activity is between preheat and settlement; --activity names any other\n");
}
END_TEST

/* Without the broker nobody knows what waits in its queues: nothing is called lost. */
START_TEST(broker_away)
{
    ledger_take("N1", 1, 1);
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_port = "1"});
    RECONCILE("--repair");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "the queues are not read"));
    ck_assert_str_eq(ledger_found, "backlog N1 1\n");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reconcile_live");
    TCase *tc = tcase_create("reconcile_live");

    tcase_add_checked_fixture(tc, ledger_setup, ledger_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, running_sale_has_no_gaps);
    tcase_add_test(tc, repair_leaves_a_running_sale_alone);
    tcase_add_test(tc, stock_row_is_mended_in_a_running_sale);
    tcase_add_test(tc, planted_faults_in_a_running_sale);
    tcase_add_test(tc, every_order_on_some_page);
    tcase_add_test(tc, ends_when_told);
    tcase_add_test(tc, sums_in_slices);
    tcase_add_test(tc, backlog);
    tcase_add_test(tc, bounded);
    tcase_add_test(tc, stale_findings);
    tcase_add_test(tc, two_walkers);
    tcase_add_test(tc, runs_are_logged);
    tcase_add_test(tc, killed_after_the_repair);
    tcase_add_test(tc, what_people_see);
    tcase_add_test(tc, mistakes);
    tcase_add_test(tc, broker_away);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
