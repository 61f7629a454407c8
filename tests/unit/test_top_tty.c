/* orderctl top as a process: on a terminal, without one, and with a daemon that comes and goes. The daemon is a peer of
 * our own that says what the test wants. */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing_peer.h"
#include "testing_program.h"
#include "testing_tty.h"

static struct tty tty;
static struct program p;
static char file[64];
static int port;

#define ACTIVITIES                                                                                                     \
    "\"activities\":[{\"id\":1001,\"title\":\"Phone\",\"state\":\"running\",\"total\":1000,\"left\":412,"              \
    "\"conservation\":{\"drift\":0}},{\"id\":1002,\"title\":\"\u9650\u65f6\",\"state\":\"scheduled\",\"total\":5,"     \
    "\"left\":5}]}"

static const char first[] = "{\"v\":1,\"at\":1800000000000,\"interval_ms\":1000,\n" ACTIVITIES;
static const char second[] = "{\"v\":1,\"at\":1800000001000,\"interval_ms\":1000,\"backlog\":{\"messages\":777},"
                             "\n" ACTIVITIES;

static void setup(void)
{
    FILE *f;

    setlocale(LC_CTYPE, "C.UTF-8");
    port = testing_peer_start();
    testing_peer_say("/sale", 200, first);
    snprintf(file, sizeof file, "%s/%s.conf", testing_dir(), testing_name("top"));
    f = fopen(file, "w");
    ck_assert(f && fprintf(f, "admin: { port = %d; };\n", port) > 0 && fclose(f) == 0);
}

static void teardown(void)
{
    unlink(file);
}

static const char *const usual_env[] = {"TERM=xterm", "LC_ALL=C.UTF-8", "NO_COLOR", NULL};

static void start_with(const char *const *env)
{
    tty_start(&tty, 80, 24, env, (const char *const[]){"orderctl", "-c", file, "top", "--interval", "200ms", NULL});
}

static void start(void)
{
    start_with(usual_env);
    tty_await(&tty, "412 of 1,000 left");
    ck_assert(tty.second && !tty.cursor && !tty_as_before(&tty));
}

/* It is as it was: the first screen, a cursor, echo. */
static void check_restored(void)
{
    ck_assert(!tty_shows(&tty, "nothing") && !tty.second && tty.cursor);
    ck_assert(tty_as_before(&tty));
}

static void check_ends(int code)
{
    int status = tty_wait(&tty);

    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == code, "status %x", status);
    check_restored();
}

/* ---- on a terminal ---- */

START_TEST(shows_and_quits)
{
    start();
    ck_assert(tty_shows(&tty, "2 ACTIVITIES"));
    ck_assert(tty_shows(&tty, " UTC")); /* to the last column */
    ck_assert(tty_shows(&tty, "q quit  ? help  p pause  \u2191\u2193 activity"));
    testing_peer_say("/sale", 200, second);
    tty_await(&tty, "777 messages");
    tty_type(&tty, "q");
    check_ends(0);
}
END_TEST

START_TEST(keys_do_what_they_say)
{
    start();
    ck_assert(tty_shows(&tty, "> 1001 Phone"));
    tty_type(&tty, "\033[B");
    tty_await(&tty, "> 1002 \u9650\u65f6");
    tty_type(&tty, "\033");
    tty_type(&tty, "OA");
    tty_await(&tty, "> 1001 Phone");
    tty_type(&tty, "?");
    tty_await(&tty, "any key: back");
    tty_type(&tty, "x");
    tty_await(&tty, "412 of 1,000 left");
    tty_type(&tty, "\f");
    tty_type(&tty, "q");
    check_ends(0);
}
END_TEST

/* While it pauses it goes on asking, and shows nothing of it. */
START_TEST(pause_holds_still)
{
    int asked;

    start();
    tty_type(&tty, "p");
    tty_await(&tty, "PAUSED");
    testing_peer_say("/sale", 200, second);
    asked = testing_peer_asked();
    testing_wait(testing_peer_asked() >= asked + 4, 15000, "it goes on asking");
    ck_assert(!tty_shows(&tty, "777 messages"));
    tty_type(&tty, "p");
    tty_await(&tty, "777 messages");
    ck_assert(!tty_shows(&tty, "PAUSED"));
    tty_type(&tty, "q");
    check_ends(0);
}
END_TEST

START_TEST(resize_is_immediate)
{
    testing_peer_say("/sale", 200, first);
    start();
    testing_peer_say("/sale", 0, ""); /* hangs: no news comes that would draw */
    tty_resize(&tty, 132, 43);
    tty_await(&tty, "SOLD OUT");
    ck_assert(tty_shows(&tty, "412 of 1,000 left"));
    tty_resize(&tty, 60, 20);
    testing_wait(!tty_shows(&tty, "SOLD/S") && tty_shows(&tty, "412 of 1,000 left"), 15000, "narrow");
    tty_resize(&tty, 1, 1);
    tty_resize(&tty, 80, 24);
    tty_await(&tty, "412 of 1,000 left");
    tty_type(&tty, "q");
    check_ends(0);
}
END_TEST

/* It does not wait out the five seconds that an answer may take. */
START_TEST(quits_while_it_asks)
{
    int64_t quit_at;
    int asked;

    start();
    testing_peer_say("/sale", 0, "");
    asked = testing_peer_asked();
    testing_wait(testing_peer_asked() > asked, 15000, "a question that nobody answers");
    quit_at = testing_now_ms();
    tty_type(&tty, "q");
    check_ends(0);
    ck_assert_int_lt(testing_now_ms() - quit_at, 4500);
}
END_TEST

/* ---- what ends it ---- */

START_TEST(interrupt_ends_it)
{
    start();
    tty_type(&tty, "\003");
    check_ends(0);
}
END_TEST

static const int ending[] = {SIGTERM, SIGHUP, SIGQUIT, SIGABRT};

START_TEST(signals_end_it)
{
    int status;

    start();
    kill(tty.pid, ending[_i]);
    status = tty_wait(&tty);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == ending[_i], "status %x", status);
    check_restored();
}
END_TEST

START_TEST(stops_and_goes_on)
{
    int status;

    start();
    tty_type(&tty, "\032"); /* Ctrl-Z */
    status = tty_wait(&tty);
    ck_assert(WIFSTOPPED(status));
    check_restored();
    kill(tty.pid, SIGCONT);
    testing_wait(tty_shows(&tty, "412 of 1,000 left") && tty.second && !tty.cursor, 15000, "it is back");
    ck_assert(!tty_as_before(&tty));
    tty_type(&tty, "q");
    check_ends(0);
}
END_TEST

/* Stopped by something that it does not see, while its shell used the terminal. */
START_TEST(continued_from_outside)
{
    start();
    kill(tty.pid, SIGSTOP);
    ck_assert(WIFSTOPPED(tty_wait(&tty)));
    ck_assert(tcsetattr(tty.slave, TCSANOW, &tty.before) == 0);
    kill(tty.pid, SIGCONT);
    testing_wait(!tty_as_before(&tty), 15000, "it has the keys again");
    tty_type(&tty, "q");
    check_ends(0);
}
END_TEST

START_TEST(terminal_goes_away)
{
    int status;

    start();
    tty_hang_up(&tty);
    status = tty_wait(&tty);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP, "status %x", status);
}
END_TEST

/* ---- a daemon that comes and goes ---- */

START_TEST(daemon_comes_and_goes)
{
    start();
    testing_peer_stop();
    tty_await(&tty, "No numbers for");
    tty_await(&tty, "No numbers for 1s, trying on: no orderd answers at 127.0.0.1 port");
    ck_assert(tty_shows(&tty, "412 of 1,000 left"));
    testing_peer_say("/sale", 200, second);
    testing_peer_restart();
    tty_await(&tty, "777 messages");
    ck_assert(!tty_shows(&tty, "No numbers"));
    testing_peer_say("/sale", 404, "");
    tty_await(&tty, "this orderd does not know");
    testing_peer_say("/sale", 503, "");
    tty_await(&tty, "status 503");
    testing_peer_say("/sale", 200, "{");
    tty_await(&tty, "is no JSON");
    ck_assert(tty_shows(&tty, "412 of 1,000 left"));
    tty_type(&tty, "q");
    check_ends(0);
}
END_TEST

/* It answers, and says the same for seconds. */
START_TEST(numbers_get_old)
{
    start();
    tty_await(&tty, "These numbers are");
    tty_type(&tty, "q");
    check_ends(0);
}
END_TEST

START_TEST(nobody_at_the_beginning)
{
    testing_peer_stop();
    start_with(usual_env);
    check_ends(69);
    ck_assert_msg(strstr(tty.out, "orderctl: top: no orderd answers at 127.0.0.1 port") == tty.out, "%s", tty.out);
    ck_assert(strchr(tty.out, '\033') == NULL);
}
END_TEST

START_TEST(older_daemon)
{
    testing_peer_say("/sale", 404, "");
    PROGRAM_RUN(&p, "orderctl", "-c", file, "top");
    ck_assert_str_eq(p.err, "orderctl: top: this orderd does not know /sale: it is older than orderctl " ORDERD_VERSION
                            " (`orderctl status` shows what it knows)\n");
    ck_assert_int_eq(p.code, 69);
    ck_assert_str_eq(p.out, "");
}
END_TEST

/* ---- what the terminal can ---- */

START_TEST(no_color)
{
    start_with((const char *const[]){"TERM=xterm", "LC_ALL=C.UTF-8", "NO_COLOR=1", NULL});
    tty_await(&tty, "412 of 1,000 left");
    tty_type(&tty, "q");
    check_ends(0);
    for (const char *c = tty.out; (c = strstr(c, "\033[0")) != NULL; c++)
        ck_assert_msg(strcspn(c, "34") > strcspn(c, "m"), "a colour: %.12s", c + 1);
}
END_TEST

START_TEST(colors)
{
    start_with(usual_env);
    tty_await(&tty, "412 of 1,000 left");
    tty_type(&tty, "q");
    check_ends(0);
    ck_assert(strstr(tty.out, "\033[0;32mdrift 0") != NULL);
}
END_TEST

START_TEST(plain_ascii)
{
    start_with((const char *const[]){"TERM=xterm", "LC_ALL=C", NULL});
    tty_await(&tty, "> 1001 Phone");
    ck_assert(tty_shows(&tty, "1002 ??"));
    tty_type(&tty, "q");
    check_ends(0);
    for (size_t i = 0; i < tty.out_len; i++)
        ck_assert(!(tty.out[i] & 0x80));
}
END_TEST

static const char *const dumb[] = {"TERM=dumb", "TERM", "TERM="};

START_TEST(terminal_without_cursor)
{
    start_with((const char *const[]){dumb[_i], "LC_ALL=C.UTF-8", "NO_COLOR=1", NULL});
    check_ends(0);
    ck_assert(strstr(tty.out, "has no cursor to move: one frame") != NULL);
    ck_assert(strstr(tty.out, "412 of 1,000 left") != NULL);
    ck_assert(strchr(tty.out, '\033') == NULL);
}
END_TEST

/* ---- without a terminal ---- */

START_TEST(one_frame)
{
    PROGRAM_RUN(&p, "orderctl", "-c", file, "top", "--activity", "1002");
    ck_assert_str_eq(p.err, "orderctl: standard output is no terminal: one frame, as with --once\n");
    ck_assert_int_eq(p.code, 0);
    ck_assert(strstr(p.out, "> 1002 ") && strstr(p.out, "5 of 5 left") && !strchr(p.out, '\033'));
    PROGRAM_RUN(&p, "orderctl", "-c", file, "top", "--once");
    ck_assert_str_eq(p.err, "");
    ck_assert_int_eq(p.code, 0);
    PROGRAM_RUN(&p, "orderctl", "-q", "-c", file, "top");
    ck_assert_str_eq(p.err, "");
    ck_assert_int_eq(p.code, 0);
}
END_TEST

/* The document as it came, on one line. */
START_TEST(one_document)
{
    PROGRAM_RUN(&p, "orderctl", "-c", file, "top", "--json", "--once");
    ck_assert_str_eq(p.err, "");
    ck_assert_int_eq(p.code, 0);
    ck_assert(strstr(p.out, "{\"v\":1,\"at\":1800000000000,\"interval_ms\":1000,\"activities\":[") == p.out);
    ck_assert(strchr(p.out, '\n') == p.out + strlen(p.out) - 1);
}
END_TEST

/* `orderctl top --json | head -2`: one line an interval; ends when nobody reads, without a word. */
START_TEST(documents_until_nobody_reads)
{
    char line[4096];
    FILE *out;
    int status;

    program_start(&p, (const char *const[]){"orderctl", "-c", file, "top", "--json", "--interval", "200ms", NULL});
    out = fdopen(p.out_fd, "r");
    ck_assert(out && fgets(line, sizeof line, out) && strstr(line, "1800000000000"));
    testing_peer_say("/sale", 200, second);
    do
        ck_assert(fgets(line, sizeof line, out) != NULL);
    while (!strstr(line, "777"));
    fclose(out);
    ck_assert(waitpid(p.pid, &status, 0) == p.pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_eq(read(p.err_fd, line, sizeof line), 0);
}
END_TEST

/* A line is not kept back until there are more; and the end of the reader is seen before the next one is due. */
START_TEST(documents_come_at_once)
{
    char line[4096];
    FILE *out;

    program_start(&p, (const char *const[]){"orderctl", "-c", file, "top", "--json", "--interval", "1h", NULL});
    out = fdopen(p.out_fd, "r");
    ck_assert(out && fgets(line, sizeof line, out) && strstr(line, "1800000000000"));
    fclose(out);
    ck_assert(waitpid(p.pid, NULL, 0) == p.pid);
}
END_TEST

START_TEST(documents_of_a_daemon_that_goes)
{
    char line[4096], err[512];
    FILE *out;
    size_t len = 0;

    program_start(&p, (const char *const[]){"orderctl", "-c", file, "top", "--json", "--interval", "200ms", NULL});
    out = fdopen(p.out_fd, "r");
    ck_assert(out && fgets(line, sizeof line, out));
    testing_peer_stop();
    do { /* a line of stderr comes in pieces */
        ck_assert_uint_lt(len, sizeof err - 1);
        ck_assert_int_eq(read(p.err_fd, err + len, 1), 1);
    } while (err[len++] != '\n');
    err[len] = '\0';
    ck_assert_msg(strstr(err, "orderctl: warning: no orderd answers at 127.0.0.1 port ") == err, "%s", err);
    ck_assert(strstr(err, "; trying on\n") != NULL);
    testing_peer_say("/sale", 200, second);
    testing_peer_restart();
    do
        ck_assert(fgets(line, sizeof line, out) != NULL);
    while (!strstr(line, "777"));
    fclose(out);
    ck_assert(waitpid(p.pid, NULL, 0) == p.pid);
    ck_assert_int_eq(read(p.err_fd, line, sizeof line), 0); /* it was told once */
}
END_TEST

START_TEST(frame_that_nobody_can_write)
{
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC), status;
    char path[512];
    pid_t pid;

    snprintf(path, sizeof path, "%s/src/orderctl", testing_env("ORDERD_BUILD"));
    ck_assert(full >= 0);
    pid = fork();
    if (pid == 0) {
        dup2(full, STDOUT_FILENO);
        dup2(full, STDERR_FILENO);
        execl(path, "orderctl", "-q", "-c", file, "top", (char *)NULL);
        _exit(127);
    }
    close(full);
    ck_assert(waitpid(pid, &status, 0) == pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 74);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("top_tty");
    TCase *c = tcase_create("process");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, shows_and_quits);
    tcase_add_test(c, keys_do_what_they_say);
    tcase_add_test(c, pause_holds_still);
    tcase_add_test(c, resize_is_immediate);
    tcase_add_test(c, quits_while_it_asks);
    tcase_add_test(c, interrupt_ends_it);
    tcase_add_loop_test(c, signals_end_it, 0, sizeof ending / sizeof *ending);
    tcase_add_test(c, stops_and_goes_on);
    tcase_add_test(c, continued_from_outside);
    tcase_add_test(c, terminal_goes_away);
    tcase_add_test(c, daemon_comes_and_goes);
    tcase_add_test(c, numbers_get_old);
    tcase_add_test(c, nobody_at_the_beginning);
    tcase_add_test(c, older_daemon);
    tcase_add_test(c, no_color);
    tcase_add_test(c, colors);
    tcase_add_test(c, plain_ascii);
    tcase_add_loop_test(c, terminal_without_cursor, 0, sizeof dumb / sizeof *dumb);
    tcase_add_test(c, one_frame);
    tcase_add_test(c, one_document);
    tcase_add_test(c, documents_until_nobody_reads);
    tcase_add_test(c, documents_come_at_once);
    tcase_add_test(c, documents_of_a_daemon_that_goes);
    tcase_add_test(c, frame_that_nobody_can_write);
    suite_add_tcase(suite, c);
    return testing_main(suite);
}
