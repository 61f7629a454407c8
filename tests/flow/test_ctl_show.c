/* orderctl activity show against real servers: what it shows of a running sale is what is there. */
#include "testing_sale.h"

#include <string.h>

#include "orderd/exitcode.h"

static struct error err;

/* From held to sold, by hand. */
static void settle(const char *order_no, int shard, const char *units, const char *minus_units)
{
    struct stock_keys keys;
    const char *const fields[][2] = {{"sold", units}, {"held", minus_units}};

    stock_keys_of(&keys, sale_id, shard);
    sale_command("HDEL", keys.text[STOCK_KEY_HELD], order_no);
    for (int i = 0; i < 2; i++) {
        struct slice argv[] = {slice_of("HINCRBY"), slice_of(keys.text[STOCK_KEY_META]), slice_of(fields[i][0]),
                               slice_of(fields[i][1])};
        struct kv_reply *reply = kv_command(sale_kv, argv, 4, &err);

        ck_assert_ok(reply != NULL, &err);
        kv_reply_free(&reply);
    }
}

/* One live, one paid, one that has no row yet, and one that was closed, its units not given back yet. */
static void sell(void)
{
    sale_deduct("o_live", 1, 1, 0);
    sale_deduct("o_paid", 2, 3, 1);
    sale_deduct("o_underway", 3, 2, 1);
    sale_deduct("o_closed", 4, 1, 3);
    sale_insert("o_live", 1, 1, 0);
    sale_insert("o_paid", 2, 3, 1);
    sale_insert("o_closed", 4, 1, 3);
    settle("o_paid", 1, "3", "-3");
    testing_ctl_run_sql("UPDATE orders SET status='paid' WHERE order_no='o_paid';"
                        "UPDATE orders SET status='closed' WHERE order_no='o_closed';"
                        "UPDATE activity_stock SET available=available+1");
}

static void check_members(json_t *json)
{
    const json_t *orders = json_object_get(json, "orders"), *shards = json_object_get(json, "shards"),
                 *balance = json_object_get(json, "balance"), *stock = json_object_get(json, "stock");

    ck_assert_int_eq(sale_member(json_object_get(json, "activity"), "id"), sale_id);
    ck_assert_int_eq(sale_member(stock, "total"), SALE_TOTAL);
    ck_assert_int_eq(sale_member(stock, "available"), SALE_TOTAL - 4);
    ck_assert_int_eq(sale_member(json_object_get(orders, "pending"), "units"), 1);
    ck_assert_int_eq(sale_member(json_object_get(orders, "paid"), "orders"), 1);
    ck_assert_int_eq(sale_member(json_object_get(orders, "paid"), "units"), 3);
    ck_assert_int_eq(sale_member(json_object_get(orders, "closed"), "units"), 1);
    ck_assert_int_eq(sale_member(json_object_get(orders, "rejected"), "orders"), 0);
    ck_assert_uint_eq(json_array_size(shards), SALE_SHARDS);
    ck_assert_int_eq(sale_member(json_array_get(shards, 1), "held"), 2);
    ck_assert_int_eq(sale_member(json_array_get(shards, 1), "held_orders"), 1);
    ck_assert_int_eq(sale_member(json_array_get(shards, 1), "left"), 246);
    ck_assert(json_is_true(json_object_get(json_array_get(shards, 1), "balanced")));
    ck_assert_int_eq(sale_member(balance, "held"), 4);
    ck_assert_int_eq(sale_member(balance, "sold"), 3);
    ck_assert_int_eq(sale_member(balance, "live"), 4);
    ck_assert_int_eq(sale_member(balance, "left"), SALE_TOTAL - 7);
    ck_assert_int_eq(sale_member(balance, "held_without_live_order"), 3);
    ck_assert_int_eq(sale_member(balance, "live_unknown_to_redis"), 0);
}

static void verdicts(bool shards, bool total, bool database, bool both)
{
    json_t *json, *balance;

    CTL("activity", "show", sale_text, "--json");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    json = sale_parsed();
    balance = json_object_get(json, "balance");
    ck_assert_int_eq(json_is_true(json_object_get(balance, "shards_good")), shards);
    ck_assert_int_eq(json_is_true(json_object_get(balance, "total_good")), total);
    ck_assert_int_eq(json_is_true(json_object_get(balance, "database_good")), database);
    ck_assert_int_eq(json_is_true(json_object_get(balance, "both_good")), both);
    json_decref(json);
}

START_TEST(shown)
{
    struct stock_keys keys;
    json_t *json;

    sale_approve();
    CTL("activity", "show", sale_text);
    sale_said(EXIT_OK, "orderctl: it is not in Redis yet; `orderctl activity preheat %s` puts it there\n", sale_text);
    CTL("activity", "preheat", sale_text, "-q");
    sell();
    CTL("activity", "show", sale_text, "--json");
    sale_said(EXIT_OK, "%s", "");
    json = sale_parsed();
    check_members(json);
    json_decref(json);
    verdicts(true, true, true, true);
    CTL("activity", "show", sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  shard 1    251     246       2       3          0  adds up\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out,
                                 "  yes  4 of 4 shards: cap = left + held + sold + forfeited\n"
                                 "  yes  1002 units in all shards, 1002 in the activity\n"
                                 "  yes  MySQL: total 1002 = available 998 + live 4\n"
                                 "  yes  available 998 = left 995 + held without a live order 3 + "
                                 "forfeited 0\n"
                                 "       - live unknown to Redis 0\n"
                                 "       3 units held without a live order: on their way, or to be given "
                                 "back\n"));

    testing_ctl_run_sql("UPDATE activity_stock SET available=available-1");
    verdicts(true, true, false, false);
    testing_ctl_run_sql("UPDATE activity_stock SET available=available+1");
    stock_keys_of(&keys, sale_id, 0);
    sale_command("INCRBY", keys.text[STOCK_KEY_STOCK], "1"); /* one unit from nowhere */
    verdicts(false, true, true, false);
    CTL("activity", "show", sale_text);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "  shard 0    251     251       1       0          0  does not add up\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  NO   3 of 4 shards: "));
    sale_forget(0);
    verdicts(false, false, true, false);
}
END_TEST

/* Redis forgot a live order: the other sign of the difference. */
START_TEST(shown_forgotten)
{
    json_t *json;

    sale_approve();
    CTL("activity", "preheat", sale_text, "-q");
    sale_insert("o_forgotten", 1, 3, 0);
    CTL("activity", "show", sale_text, "--json");
    json = sale_parsed();
    ck_assert_int_eq(sale_member(json_object_get(json, "balance"), "live_unknown_to_redis"), 3);
    ck_assert_int_eq(sale_member(json_object_get(json, "balance"), "held_without_live_order"), 0);
    json_decref(json);
    verdicts(true, true, true, true);
}
END_TEST

/* ---- what differs between the row and Redis ---- */

static void shows(const char *text)
{
    CTL("activity", "show", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_msg(strstr(testing_ctl.out, text) != NULL, "no \"%s\" in %s", text, testing_ctl.out);
}

static json_t *shard(json_t *json, size_t i)
{
    return json_array_get(json_object_get(json, "shards"), i);
}

START_TEST(shown_faults)
{
    struct stock_paused answer;
    json_t *json;

    sale_preheat();
    shows("\n  Gates know that it is scheduled, since 20");
    ck_assert_ok(stock_pause(sale_kv, &(struct stock_pause){sale_id, 1, true, 1}, &answer, &err), &err);
    shows("  adds up\n  shard 1    251     251       0       0          0  is paused: a rebuild was cut short\n");
    testing_ctl_run_sql("UPDATE activity SET state='ended',ends_at=ends_at+INTERVAL 1 HOUR");
    shows("  is for sale at other times\n");
    shows("\n  Gates have not been told; ");
    testing_ctl_run_sql("UPDATE activity SET epoch=2");
    shows("  has another epoch\n");
    CTL("activity", "show", sale_text, "--json");
    json = sale_parsed();
    ck_assert_str_eq(json_string_value(json_object_get(shard(json, 0), "fault")), "other_epoch");
    ck_assert_str_eq(json_string_value(json_object_get(shard(json, 0), "state")), "present");
    ck_assert(json_is_false(json_object_get(json_object_get(json, "gates"), "told")));
    ck_assert(json_is_true(json_object_get(json_object_get(json, "stock"), "takes_orders")));
    json_decref(json);
    testing_ctl_run_sql("UPDATE activity SET epoch=1,state='scheduled',ends_at=ends_at-INTERVAL 1 HOUR");
    CTL("activity", "show", sale_text, "--json");
    json = sale_parsed();
    ck_assert(json_is_null(json_object_get(shard(json, 0), "fault")));
    ck_assert_str_eq(json_string_value(json_object_get(shard(json, 1), "fault")), "paused");
    ck_assert(json_is_true(json_object_get(json_object_get(json, "gates"), "told")));
    ck_assert(json_is_string(json_object_get(json_object_get(json, "gates"), "changed_at")));
    json_decref(json);
}
END_TEST

START_TEST(shown_settled)
{
    sale_preheat();
    CTL("activity", "end", sale_text);
    testing_ctl_run_sql("UPDATE activity SET starts_at=starts_at-INTERVAL 1 HOUR,ends_at=ends_at-INTERVAL 30 MINUTE");
    CTL("activity", "settle", sale_text);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
    CTL("activity", "show", sale_text);
    sale_said(EXIT_OK,
              "orderctl: it takes no more orders\norderctl: it is settled, and its keys are gone from Redis\n");
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_test(t, shown);
    tcase_add_test(t, shown_forgotten);
    tcase_add_test(t, shown_faults);
    tcase_add_test(t, shown_settled);
}

int main(void)
{
    Suite *s = suite_create("ctl_show");
    TCase *t = tcase_create("show");

    tcase_add_checked_fixture(t, sale_setup, sale_teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
