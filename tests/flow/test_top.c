/* orderctl top on a terminal and orderctl status, with a real daemon and a real sale: the numbers are those of the
 * sale, drift is seen, and a daemon that is restarted is waited for. */
#include "testing_http.h"
#include "testing_sale.h"
#include "testing_tty.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct program orderd;
static struct tty tty;
static int port;

static void start_daemon(void)
{
    program_start(&orderd, (const char *const[]){"orderd", "-c", testing_ctl_file, NULL});
}

static void stop_daemon(void)
{
    kill(orderd.pid, SIGTERM);
    program_wait(&orderd);
    ck_assert_int_eq(orderd.code, 0);
    orderd.pid = 0;
}

/* The answer is about a sale that was read. */
static bool has_read(void)
{
    static struct testing_reply reply;
    int fd = testing_http_connect(port);

    if (fd < 0)
        return false;
    close(fd);
    testing_http(port, "GET", "/sale", &reply);
    return reply.status == 200 && strstr(reply.body, "\"activities\":[{") && !strstr(reply.body, "\"drift\":null");
}

static void setup(void)
{
    char more[512];

    setlocale(LC_CTYPE, "C.UTF-8");
    sale_setup();
    port = testing_free_port();
    snprintf(more, sizeof more,
             "create: { queue = \"%s\"; lanes = 1; }; payment: { lanes = 0; }; cancel: { lanes = 0; };\n"
             "log: { level = \"warning\"; }; retry: { delays = \"61ms,62ms\"; }; walk: { enabled = false; };\n"
             "admin: { port = %d; }; survey: { interval = \"200ms\"; };",
             SALE_QUEUE, port);
    testing_ctl_configure(&(struct testing_ctl_conf){.more = more});
    sale_queue_empty();
    sale_preheat();
    CTL("activity", "start", sale_text);
    start_daemon();
    testing_wait(has_read(), 20000, "the daemon has read the sale");
}

static void teardown(void)
{
    if (orderd.pid > 0)
        stop_daemon();
    sale_teardown();
}

static void watch(void)
{
    tty_start(&tty, 80, 24, (const char *const[]){"TERM=xterm", "LC_ALL=C.UTF-8", "NO_COLOR", NULL},
              (const char *const[]){"orderctl", "-c", testing_ctl_file, "top", "--interval", "200ms", NULL});
    tty_await(&tty, "1,002 of 1,002 left");
}

static void quit(void)
{
    int status;

    tty_type(&tty, "q");
    status = tty_wait(&tty);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(tty_as_before(&tty) && tty.cursor && !tty.second);
}

static void sell(const char *buyers)
{
    struct program load;

    PROGRAM_RUN(&load, "orderload", "sale", "-c", testing_ctl_file, "--activity", sale_text, "--buyers", buyers,
                "--brief");
    ck_assert_msg(load.code == 0, "%s%s", load.out, load.err);
}

START_TEST(a_sale_is_watched)
{
    watch();
    tty_await(&tty, "1 of 1 replica ready");
    ck_assert(tty_shows(&tty, "mysql up  rabbitmq up  redis up"));
    ck_assert(tty_shows(&tty, "O'Neil \\ \"50%\" \u51ac\u5b63"));
    sell("300");
    tty_await(&tty, "702 of 1,002 left");
    tty_await(&tty, "300 unpaid");
    tty_await(&tty, "drift 0  in flight 0");
    tty_await(&tty, "MySQL: left 702, orders 300, off 0");
    tty_resize(&tty, 132, 43);
    tty_await(&tty, "units left, "); /* there is room for its curve */
    quit();
    ck_assert(strstr(tty.out, "41mdrift") == NULL); /* it was 0 all the time */
}
END_TEST

START_TEST(a_restart_is_waited_for)
{
    watch();
    sell("10");
    tty_await(&tty, "992 of 1,002 left");
    stop_daemon();
    tty_await(&tty, "No numbers for");
    ck_assert(tty_shows(&tty, "992 of 1,002 left"));
    start_daemon();
    testing_wait(!tty_shows(&tty, "No numbers for") && tty_shows(&tty, "992 of 1,002 left"), 20000, "it is back");
    quit();
}
END_TEST

START_TEST(drift_is_seen)
{
    watch();
    testing_ctl_run_sql("UPDATE activity_stock SET available = available - 5 WHERE activity_id = %s", sale_text);
    tty_await(&tty, "Redis and MySQL differ by 5 units");
    tty_await(&tty, "orderctl reconcile --activity ");
    tty_await(&tty, "drift 5");
    CTL("status");
    CTL_SAYS(0, "");
    ck_assert_msg(strstr(testing_ctl.out, ": Redis and MySQL differ by 5 units\n    orderctl reconcile --activity ") !=
                      NULL,
                  "%s", testing_ctl.out);
    testing_ctl_run_sql("UPDATE activity_stock SET available = available + 5 WHERE activity_id = %s", sale_text);
    tty_await(&tty, "drift 0");
    sale_forget(2);
    tty_await(&tty, "shards missing in Redis: 1");
    tty_await(&tty, "drift -"); /* nobody can know it now */
    quit();
}
END_TEST

static bool status_says(const char *one, const char *other)
{
    CTL("status");
    CTL_SAYS(0, "");
    return strstr(testing_ctl.out, one) && strstr(testing_ctl.out, other);
}

/* What was not read yet, just after the daemon's start, is left out or "-" there. */
START_TEST(status_has_the_fleet)
{
    testing_wait(status_says("\nREPLICA  STATE ", "  running  1002  1002       0     0      0  O'Neil"), 20000,
                 "it has read the whole sale");
    ck_assert_msg(strstr(testing_ctl.out, "ACTIVITY  STATE    LEFT    OF  UNPAID  PAID  DRIFT  TITLE\n") != NULL, "%s",
                  testing_ctl.out);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("top");
    TCase *c = tcase_create("sale");

    tcase_set_timeout(c, 90);
    tcase_add_unchecked_fixture(c, sale_queues_make, sale_queues_delete);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_sale_is_watched);
    tcase_add_test(c, a_restart_is_waited_for);
    tcase_add_test(c, drift_is_seen);
    tcase_add_test(c, status_has_the_fleet);
    suite_add_tcase(s, c);
    return testing_main(s);
}
