/* orderctl dlq discard and restore: what becomes of letters, and of the orders that would come to life again, whatever
 * kills the command. */
#include "testing_dlq.h"
#include "testing_sale.h"

#include <inttypes.h>
#include <signal.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "orderd/clock.h"
#include "orderd/exitcode.h"
#include "orderd/order.h"

/* live: reserved, and nobody made a row. none: not reserved. other: reserved by another buyer. row: it is an order.
 * text: no order at all. sent: replayed before. */
static const char *const letters[] = {"live", "none", "other", "row", "text", "sent"};
#define LETTERS (sizeof letters / sizeof *letters)

static char ids[LETTERS][24];

static void letter(const char *order_no, int64_t user)
{
    struct order o = {.activity_id = sale_id,
                      .user_id = user,
                      .sku_id = 77,
                      .quantity = 2,
                      .amount = 2 * SALE_PRICE,
                      .epoch = sale_row().epoch,
                      .reserved_at = clock_wall_ms()};
    struct strbuf body = STRBUF_INIT;

    snprintf(o.order_no, sizeof o.order_no, "%s", order_no);
    order_encode(&o, &body);
    dlq_publish(&(struct dlq_letter){order_no, "delivery_limit", "order.create", NULL, {body.data, body.len}});
    strbuf_release(&body);
}

static void setup(void)
{
    sale_setup();
    sale_preheat();
    dlq_open();
    sale_deduct("live", 1, 2, 0);
    sale_deduct("other", 33, 2, 0);
    sale_deduct("row", 4, 2, 0);
    sale_insert("row", 4, 2, 0);
    letter("live", 1);
    letter("none", 2);
    letter("other", 3);
    letter("row", 4);
    letter("sent", 5);
    dlq_publish(&(struct dlq_letter){"text", "body_not_json", "order.create", NULL, slice_of("hello")});
    CTL("dlq", "drain", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    testing_ctl_run_sql("UPDATE dead_letter SET state='replayed' WHERE message_id='sent'");
    for (size_t i = 0; i < LETTERS; i++)
        snprintf(ids[i], sizeof ids[i], "%" PRId64, dlq_id(letters[i]));
}

static void teardown(void)
{
    dlq_close();
    sale_teardown();
}

static int64_t in_state(const char *state)
{
    return testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE state='%s'", state);
}

static int64_t actions(const char *action)
{
    return testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action WHERE action='%s'", action);
}

/* Five letters are discarded, each once, and of their orders "live" alone is rejected, once. */
static void all_is_done(void)
{
    ck_assert_int_eq(in_state("discarded"), 5);
    ck_assert_int_eq(in_state("replayed"), 1);
    ck_assert_int_eq(actions("discarded"), 5);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(DISTINCT letter_id) FROM dead_letter_action WHERE "
                                        "action='discarded' AND note='a test' AND who LIKE '%%@%%'"),
                     5);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders"), 2);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='live' AND status='rejected' AND "
                                        "reason='discarded' AND units_returned=2 AND units_forfeited=0"),
                     1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='row' AND status='pending'"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE message_key='stock.return:live' AND "
                                        "state='pending' AND payload LIKE '%%live%%'"),
                     1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE topic='order.dead'"), 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE topic='stock.return'"), 1);
}

#define DISCARD(...) CTL("dlq", "discard", "--note", "a test", ids[0], ids[1], ids[2], ids[3], ids[4], __VA_ARGS__)

START_TEST(discards)
{
    DISCARD(ids[5], "7", "--json");
    CTL_SAYS(EXIT_PARTIAL, "orderctl: 5 of 7 are discarded now\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"result\":\"discarded\",\"detail\":\"order live is rejected, units "
                                                  "that go back on sale: 2\"}\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"result\":\"refused\",\"detail\":\"it is replayed\"}\n"));
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "{\"id\":7,\"result\":\"missing\",\"detail\":\"there is no such letter\"}\n"));
    all_is_done();
    DISCARD("-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "already"));
    all_is_done();
}
END_TEST

START_TEST(dry)
{
    DISCARD("--dry-run");
    CTL_SAYS(EXIT_OK, "orderctl: 5 of 5 would be discarded; nothing was changed\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "order live would be rejected, units that go back on sale: 2"));
    ck_assert_int_eq(in_state("open"), 5);
    ck_assert_int_eq(actions("discarded"), 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 0);
}
END_TEST

/* Chosen by an option, and not by their ids: shown, then done if it is still the number that was shown. */
START_TEST(chosen)
{
    CTL("dlq", "discard", "--note", "a test", "--reason", "delivery_limit", "--dry-run");
    CTL_SAYS(EXIT_OK,
             "orderctl: 4 of 4 would be discarded; nothing was changed; `--confirm 4` in the place of --dry-run "
             "does it\n");
    ck_assert_ptr_null(strstr(testing_ctl.out, ids[4]));
    ck_assert_ptr_null(strstr(testing_ctl.out, ids[5]));
    CTL("dlq", "discard", "--note", "a test", "--reason", "delivery_limit", "--confirm", "5");
    CTL_SAYS(EXIT_BAD_DATA,
             "orderctl: dlq discard: 4 letters would change, not the 5 of --confirm; nothing was changed; "
             "look again with --dry-run\n");
    ck_assert_int_eq(in_state("discarded"), 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action WHERE action<>'drained'"), 0);
    CTL("dlq", "discard", "--note", "a test", "--reason", "delivery_limit", "--confirm", "4");
    CTL_SAYS(EXIT_OK, "orderctl: 4 of 4 are discarded now\n");
    CTL("dlq", "discard", "--note", "a test", "--all", "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    all_is_done();
    CTL("dlq", "discard", "--note", "a test", "--all", "--confirm", "0");
    CTL_SAYS(EXIT_OK, "orderctl: there is no such letter\n");

    CTL("dlq", "restore", "--activity", sale_text, "--until", "now", "--dry-run");
    CTL_SAYS(EXIT_OK,
             "orderctl: 4 of 4 would be restored; nothing was changed; `--confirm 4` in the place of --dry-run "
             "does it\n");
    CTL("dlq", "restore", "--all", "--confirm", "4");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    CTL("dlq", "restore", "--all", "--confirm", "5", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(in_state("open"), 5);
    ck_assert_int_eq(in_state("replayed"), 1);
}
END_TEST

/* Named ones may be confirmed too; then they have to be open, each counted once. */
START_TEST(named_and_confirmed)
{
    CTL("dlq", "discard", "--note", "a test", ids[4], ids[5], ids[4], "--confirm", "2");
    CTL_SAYS(EXIT_BAD_DATA,
             "orderctl: dlq discard: 1 letters would change, not the 2 of --confirm; nothing was changed; "
             "look again with --dry-run\n");
    ck_assert_int_eq(in_state("discarded"), 0);
    CTL("dlq", "discard", "--note", "a test", ids[4], ids[5], "--confirm", "1", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_int_eq(in_state("discarded"), 1);
}
END_TEST

/* More of them than one statement names: the one that is there counts. */
START_TEST(many_named_and_confirmed)
{
    FILE *list = tmpfile();

    ck_assert_ptr_nonnull(list);
    for (int64_t missing = 1000000; missing < 1002500; missing++)
        fprintf(list, "%" PRId64 "\n", missing);
    fprintf(list, "%s\n", ids[4]);
    rewind(list);
    program_start_reading(&testing_ctl,
                          (const char *const[]){"orderctl", "-c", testing_ctl_file, "dlq", "discard", "-", "--note",
                                                "a test", "--confirm", "1", NULL},
                          fileno(list));
    program_wait(&testing_ctl);
    fclose(list);
    CTL_SAYS(EXIT_PARTIAL, "orderctl: 1 of 2501 are discarded now\n");
    ck_assert_int_eq(in_state("discarded"), 1);
}
END_TEST

static const char *const points[] = {"discard.before_decision=kill@1", "discard.after_decision=kill@1",
                                     "discard.after_letter=kill@1", "discard.after_letter=kill@3",
                                     "decide.after_commit=kill@1"};

START_TEST(killed)
{
    DLQ_KILLED(points[_i], "dlq", "discard", "--note", "a test", ids[0], ids[1], ids[2], ids[3], ids[4]);
    ck_assert_int_lt(in_state("discarded"), 5);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='live'"), _i > 0);
    ck_assert_int_eq(actions("rejects_order"), _i > 0); /* in one commit with it, and with the letter's state */
    ck_assert_int_eq(in_state("discarded") > 0, _i > 0);
    DISCARD("-q");
    CTL_SAYS(EXIT_OK, "");
    all_is_done();
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action WHERE action='rejects_order' AND "
                                        "letter_id=%s AND note='order live, units that go back on sale: 2' AND who "
                                        "LIKE '%%@%%'",
                                        ids[0]),
                     1);
}
END_TEST

/* Two people who want different things with a letter: what came first stands, and the other one is told. */
START_TEST(replayed_meanwhile)
{
    static struct program slow;
    int status;

    program_faults(_i ? "replay.before_commit=stop@1" : "discard.before_decision=stop@1");
    if (_i)
        program_start(&slow, (const char *const[]){"orderctl", "-c", testing_ctl_file, "dlq", "replay", ids[0],
                                                   "--confirm", "1", NULL});
    else
        program_start(&slow, (const char *const[]){"orderctl", "-c", testing_ctl_file, "dlq", "discard", ids[0],
                                                   "--note", "a test", NULL});
    program_faults(NULL);
    ck_assert_int_eq(waitpid(slow.pid, &status, WUNTRACED), slow.pid);
    if (_i)
        CTL("dlq", "discard", ids[0], "--note", "a test", "-q");
    else
        CTL("dlq", "replay", ids[0], "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    kill(slow.pid, SIGCONT);
    program_wait(&slow);
    ck_assert_int_eq(slow.code, EXIT_PARTIAL);
    ck_assert_ptr_nonnull(strstr(slow.out, _i ? "somebody else was faster" : "it is replayed"));
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='live'"), _i);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE 'replay:%%'"), !_i);
    ck_assert_int_eq(actions("rejects_order"), _i);
}
END_TEST

START_TEST(restores)
{
    DISCARD("-q");
    CTL("dlq", "restore", ids[0], ids[4], "--dry-run", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(in_state("open"), 0);
    CTL("dlq", "restore", ids[0], ids[4], "--note", "after all");
    CTL_SAYS(EXIT_OK, "orderctl: 2 of 2 are restored now\n");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE state='open' AND message_id IN "
                                        "('live','text')"),
                     2);
    ck_assert_int_eq(in_state("open"), 2);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action WHERE action='restored' AND "
                                        "note='after all'"),
                     2);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='live' AND status='rejected'"), 1);
    CTL("dlq", "restore", ids[0], ids[5], "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_int_eq(actions("restored"), 2);
    DISCARD("-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(in_state("discarded"), 5);
    ck_assert_int_eq(actions("discarded"), 7);
}
END_TEST

/* Nobody would send it again, but only a decision gives back what its web tier took; once. */
START_TEST(without_reservations)
{
    testing_ctl_run_sql("UPDATE activity SET reservations=0");
    CTL("dlq", "discard", "--note", "a test", ids[1], ids[3], "--dry-run");
    CTL_SAYS(EXIT_OK, "orderctl: 2 of 2 would be discarded; nothing was changed\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "order none would be rejected, units that go back on sale: 2"));
    DLQ_KILLED("discard.after_decision=kill@1", "dlq", "discard", "--note", "a test", ids[1], ids[3]);
    CTL("dlq", "discard", "--note", "a test", ids[1], ids[3], "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(in_state("discarded"), 2);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='none' AND status='rejected' AND "
                                        "reason='discarded' AND units_returned=2"),
                     1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE status='rejected'"), 1);
    ck_assert_int_eq(
        testing_ctl_number(
            "SELECT COUNT(*) FROM local_message WHERE message_key='stock.return:none' AND "
            "JSON_VALUE(CONVERT(payload USING utf8mb4),'$.orders[0].units_back')=2 AND "
            "CAST(JSON_EXTRACT(CONVERT(payload USING utf8mb4),'$.orders[0].reservations') AS CHAR)='false'"),
        1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE topic='stock.return'"), 1);
}
END_TEST

/* Nothing can have been taken for it then. */
START_TEST(without_shards)
{
    testing_ctl_run_sql("UPDATE activity SET reservations=0,preheated_at=NULL");
    DISCARD("-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE status='rejected'"), 0);
}
END_TEST

/* Two people with the same list: each letter is discarded by one of them, and written down once. */
START_TEST(two_at_once)
{
    static struct program other;
    static char list[100 * 24];
    const char *argv[] = {"orderctl", "-c", testing_ctl_file, "dlq", "discard", "-", "--note", "two", NULL};
    struct program *both[] = {&testing_ctl, &other};
    FILE *files[2];

    testing_ctl_run_sql("INSERT INTO dead_letter(letter_key,message_id,content_type,body,headers,reason,detail,queue,"
                        "attempts,died_at,death_told) WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n+1 FROM r "
                        "WHERE n<100) SELECT UNHEX(SHA2(n,256)),'many','','','{}','constraint','','',0,"
                        "UTC_TIMESTAMP(),0 FROM r");
    for (int64_t id = 0, n = 0; n < 100; n++) {
        id = testing_ctl_number("SELECT MIN(id) FROM dead_letter WHERE message_id='many' AND id>%" PRId64, id);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%" PRId64 "\n", id);
    }
    for (int i = 0; i < 2; i++) {
        files[i] = tmpfile();
        ck_assert(files[i] && fputs(list, files[i]) >= 0 && fflush(files[i]) == 0);
        rewind(files[i]);
        program_start_reading(both[i], argv, fileno(files[i]));
    }
    for (int i = 0; i < 2; i++) {
        program_wait(both[i]);
        ck_assert_msg(both[i]->code == EXIT_OK, "%s", both[i]->err);
        fclose(files[i]);
    }
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE message_id='many' AND "
                                        "state='discarded'"),
                     100);
    ck_assert_int_eq(actions("discarded"), 100);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(DISTINCT letter_id) FROM dead_letter_action WHERE note='two'"),
                     100);
}
END_TEST

/* Nobody knows then whether an order would come to life again; a letter that is none needs no Redis. */
START_TEST(redis_is_away)
{
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = "1"});
    CTL("dlq", "discard", ids[4], ids[0], "--note", "a test");
    ck_assert_int_eq(testing_ctl.code, EXIT_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "1 were discarded before that; run the same command again"));
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE state='open' AND message_id='live'"),
                     1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE state='discarded' AND "
                                        "message_id='text'"),
                     1);
    testing_ctl_configure(NULL);
    DISCARD("-q");
    all_is_done();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ctl_dlq_discard");
    TCase *t = tcase_create("discard");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, discards);
    tcase_add_test(t, dry);
    tcase_add_test(t, chosen);
    tcase_add_test(t, named_and_confirmed);
    tcase_add_test(t, many_named_and_confirmed);
    tcase_add_loop_test(t, killed, 0, (int)(sizeof points / sizeof *points));
    tcase_add_loop_test(t, replayed_meanwhile, 0, 2);
    tcase_add_test(t, restores);
    tcase_add_test(t, without_reservations);
    tcase_add_test(t, without_shards);
    tcase_add_test(t, two_at_once);
    tcase_add_test(t, redis_is_away);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
