/* orderctl activity create, approve and list against real servers: created once and approved once, whatever happens in
 * between. */
#include "testing_sale.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/exitcode.h"

/* ---- create ---- */

START_TEST(created)
{
    struct activity a;
    json_t *json;

    SALE_CREATE(SALE_USUAL, "--dry-run", "--json");
    sale_said(EXIT_OK, "orderctl: nothing was written\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"would_be_created\",\"id\":"));
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity"), 0);

    SALE_CREATE(SALE_USUAL, "--json");
    sale_said(EXIT_OK, "orderctl: created; `orderctl activity approve %s` freezes it\n", sale_text);
    json = sale_parsed();
    ck_assert_str_eq(json_string_value(json_object_get(json, "result")), "created");
    ck_assert_str_eq(json_string_value(json_object_get(json, "title")), "O'Neil \\ \"50%\" \u51ac\u5b63");
    ck_assert_int_eq(sale_member(json, "id"), sale_id);
    json_decref(json);
    a = sale_row();
    ck_assert_str_eq(a.title, "O'Neil \\ \"50%\" \u51ac\u5b63");
    ck_assert_str_eq(a.currency, "CNY");
    ck_assert_int_eq(a.sku_id, 77);
    ck_assert_int_eq(a.unit_price, 9900);
    ck_assert_int_eq(a.total_stock, SALE_TOTAL);
    ck_assert_int_eq(a.available, SALE_TOTAL);
    ck_assert_int_eq(a.per_user_limit, 3);
    ck_assert_int_eq(a.shards, SALE_SHARDS);
    ck_assert_int_eq(a.pay_timeout_ms, 900000);
    ck_assert_int_eq(a.starts_at, a.created_at);
    ck_assert_int_eq(a.ends_at, a.created_at + 7200000);
    ck_assert_int_eq(a.state, ACTIVITY_REVIEW);
    ck_assert_int_eq(a.epoch, 0);
    ck_assert(!a.free_amount && a.rebuy_after_release && a.reservations && !a.preheated);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity_stock WHERE activity_id=%" PRId64
                                        " AND total=1002 AND available=1002 AND takes_orders",
                                        sale_id),
                     1);
}
END_TEST

/* The other values of each option arrive too. */
START_TEST(created_otherwise)
{
    struct activity a;

    SALE_CREATE("--title", "x", "--starts", "2030-01-02T03:04:05.678Z", "--ends", "2030-01-02T04:00:00Z",
                "--pay-timeout=90s", "--free-amount", "--no-rebuy", "--no-reservations", "-q");
    sale_said(EXIT_OK, "%s", "");
    a = sale_row();
    ck_assert_int_eq(a.starts_at, INT64_C(1893553445678));
    ck_assert_int_eq(a.ends_at, INT64_C(1893556800000));
    ck_assert_int_eq(a.pay_timeout_ms, 90000);
    ck_assert(a.free_amount && !a.rebuy_after_release && !a.reservations);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "  from          2030-01-02T03:04:05.678Z to 2030-01-02T04:00:00.000Z\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  to be paid in 90s\n"));
}
END_TEST

START_TEST(created_again)
{
    struct activity before;
    char ends[32], was[32];

    sale_create();
    before = sale_row();
    clock_sleep_ms(5); /* relative times count from the creation, not from now */
    SALE_CREATE(SALE_USUAL);
    sale_said(EXIT_OK, "orderctl: activity %s exists already with these values; nothing was changed\n", sale_text);
    ck_assert_int_eq(sale_row().starts_at, before.starts_at);
    CTL("activity", "approve", sale_text, "-q");
    SALE_CREATE(SALE_USUAL, "-q", "--json"); /* whatever became of it */
    sale_said(EXIT_OK, "%s", "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"exists\","));

    clock_format_iso(was, sizeof was, before.ends_at);
    clock_format_iso(ends, sizeof ends, before.ends_at + 1000);
    SALE_CREATE("--title", before.title, "--starts", "now", "--ends", "+7201s");
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity create: activity %s exists with end %s instead of %s; choose another number, or the values "
        "that `orderctl activity show %s` shows\n",
        sale_text, was, ends, sale_text);
    SALE_CREATE("--title", "other", "--starts", "now", "--ends", "+2h");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    SALE_CREATE(SALE_USUAL, "--free-amount");
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity create: activity %s exists with free amounts off instead of on; choose another number, or "
        "the values that `orderctl activity show %s` shows\n",
        sale_text, sale_text);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity_stock"), 1);
}
END_TEST

START_TEST(created_twice_at_once)
{
    static struct program runs[4];
    const char *const argv[] = {"orderctl",
                                "-c",
                                testing_ctl_file,
                                "activity",
                                "create",
                                "--id",
                                sale_text,
                                "--sku",
                                "1",
                                "--price",
                                "1",
                                "--currency",
                                "EUR",
                                "--stock",
                                "9",
                                "--title",
                                "t",
                                "--starts",
                                "2030-01-01T00:00:00Z",
                                "--ends",
                                "2030-01-02T00:00:00Z",
                                "--json",
                                NULL};
    unsigned made = 0, found = 0;

    for (int i = 0; i < 4; i++)
        program_start(&runs[i], argv);
    for (int i = 0; i < 4; i++) {
        program_wait(&runs[i]);
        ck_assert_msg(runs[i].code == EXIT_OK, "%s", runs[i].err);
        made += strstr(runs[i].out, "\"created\"") != NULL;
        found += strstr(runs[i].out, "\"exists\"") != NULL;
    }
    ck_assert_uint_eq(made, 1);
    ck_assert_uint_eq(found, 3);
    ck_assert_int_eq(testing_ctl_number("SELECT SUM(available) FROM activity_stock"), 9);
}
END_TEST

START_TEST(not_created)
{
    SALE_CREATE("--title", "x", "--starts", "+2h", "--ends", "+1h");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: activity create: the sale would end at "));
    SALE_CREATE("--title", "x", "--starts", "2020-01-01T00:00:00Z", "--ends", "2020-01-02T00:00:00Z");
    sale_said(EXIT_BAD_DATA, "orderctl: activity create: the sale would be over already\n");
    SALE_CREATE("--title", "a\nb", "--starts", "now", "--ends", "+1h");
    sale_said(EXIT_BAD_DATA, "orderctl: activity create: the title is not 1 to 200 characters of UTF-8 without control "
                             "characters\n");
    testing_ctl_run_sql("INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",5,5)", sale_id);
    SALE_CREATE(SALE_USUAL);
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity create: activity_stock has a row for activity %s although there is no such "
              "activity; choose another number or remove that row\n",
              sale_text);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity"), 0); /* half of it is none of it */
}
END_TEST

/* ---- approve ---- */

START_TEST(approved)
{
    CTL("activity", "approve", sale_text);
    sale_said(EXIT_BAD_DATA, "orderctl: activity approve: there is no activity %s; see `orderctl activity list`\n",
              sale_text);
    sale_create();
    CTL("activity", "approve", sale_text, "--dry-run", "--json");
    sale_said(EXIT_OK, "orderctl: it could be approved; nothing was changed\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"would_be_approved\","));
    ck_assert_int_eq(sale_row().state, ACTIVITY_REVIEW);
    CTL("activity", "approve", sale_text, "--json");
    sale_said(EXIT_OK, "orderctl: approved; `orderctl activity preheat %s` puts its stock into Redis\n", sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"state\":\"scheduled\",\"epoch\":1,"));
    CTL("activity", "approve", sale_text, "--json");
    sale_said(EXIT_OK, "orderctl: activity %s is approved already; nothing was changed\n", sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"approved_before\","));
    ck_assert_int_eq(sale_row().state, ACTIVITY_SCHEDULED);
    ck_assert_int_eq(sale_row().epoch, 1);
}
END_TEST

START_TEST(not_approved)
{
    sale_create();
    testing_ctl_run_sql("UPDATE activity_stock SET available=1000");
    CTL("activity", "approve", sale_text);
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity approve: activity %s has 1002 units, but its row of activity_stock says 1000 of 1002; mend "
        "that row or create another\n",
        sale_text);
    testing_ctl_run_sql("DELETE FROM activity_stock");
    CTL("activity", "approve", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    testing_ctl_run_sql("INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",1002,1002);"
                        "UPDATE activity SET starts_at='2020-01-01',ends_at='2020-01-02'",
                        sale_id);
    CTL("activity", "approve", sale_text);
    sale_said(EXIT_BAD_DATA, "orderctl: activity approve: the sale of activity %s is over already; create another\n",
              sale_text);
    ck_assert_int_eq(sale_row().epoch, 0);
    testing_ctl_run_sql("UPDATE activity SET state='running',epoch=1");
    CTL("activity", "approve", sale_text);
    sale_said(EXIT_BAD_DATA, "orderctl: activity approve: activity %s is running; only one in review can be approved\n",
              sale_text);
}
END_TEST

START_TEST(listed)
{
    CTL("activity", "list");
    sale_said(EXIT_OK, "orderctl: there is no activity; see `orderctl activity create --help`\n");
    ck_assert_str_eq(testing_ctl.out, "");
    CTL("activity", "list", "--json");
    sale_said(EXIT_OK, "%s", "");
    ck_assert_str_eq(testing_ctl.out, "");
    for (int i = 3; i >= 1; i--) {
        char number[8];

        snprintf(number, sizeof number, "%d", i);
        CTL("activity", "create", "-q", "--id", number, "--sku", "1", "--price", "0", "--currency", "EUR", "--stock",
            "5", "--title", i == 2 ? "\u51ac\033[2J" : "t", "--starts", "2030-01-01T00:00:00Z", "--ends",
            "2030-01-02T00:00:00Z");
        ck_assert_int_eq(testing_ctl.code, i == 2 ? EXIT_BAD_DATA : EXIT_OK);
    }
    /* What another program may have written. */
    testing_ctl_run_sql("UPDATE activity SET title=CONCAT('x',CHAR(27),'[2J') WHERE id=3");
    CTL("activity", "list");
    ck_assert_str_eq(testing_ctl.out, "ID  STATE   STARTS (UTC)      ENDS (UTC)        PREHEATED  AVAILABLE  TITLE\n"
                                      " 1  review  2030-01-01 00:00  2030-01-02 00:00  no               5/5  t\n"
                                      " 3  review  2030-01-01 00:00  2030-01-02 00:00  no               5/5  x?[2J\n");
    CTL("activity", "list", "--json");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"title\":\"x\\u001b[2J\""));
    CTL("activity", "show", "99");
    sale_said(EXIT_BAD_DATA, "orderctl: activity show: there is no activity 99; see `orderctl activity list`\n");
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_test(t, created);
    tcase_add_test(t, created_otherwise);
    tcase_add_test(t, created_again);
    tcase_add_test(t, created_twice_at_once);
    tcase_add_test(t, not_created);
    tcase_add_test(t, approved);
    tcase_add_test(t, not_approved);
    tcase_add_test(t, listed);
}

int main(void)
{
    Suite *s = suite_create("ctl_activity");
    TCase *t = tcase_create("activity");

    tcase_add_checked_fixture(t, sale_setup, sale_teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
