/* What the service manager hears of a real daemon, over a socket of its own: when it is ready, a reload that begins and
 * ends, the stop, and the watchdog, which is fed as long as every thread goes round and no longer. */
#include "testing_http.h"
#include "testing_sale.h"

#if __has_include(<systemd/sd-daemon.h>)

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "orderd/clock.h"

/* 2 * (mysql.read_timeout + broker.call_timeout) + 3 * mysql.connect_timeout + 10 s, as configured here: longer than a
 * round of new connections, which takes four times broker.connect_timeout, and broker.call_timeout. */
#define BEAT_LIMIT_MS 18000

struct manager {
    int fd;
    char path[64];
    struct program orderd;
    int64_t fed_at;    /* when WATCHDOG=1 came last; 0: never */
    bool told_stuck;   /* a STATUS= has named a stuck thread */
    int fed_stuck;     /* WATCHDOG=1 that came after that */
    char status[1024]; /* the last STATUS= */
    char others[2048]; /* all else, one word each, in order */
    int64_t reload_stamp;
};

static struct manager managers[2];

static void manager_open(struct manager *m, int n)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memset(m, 0, sizeof *m);
    snprintf(m->path, sizeof m->path, "/tmp/orderd_service_%d_%d", (int)getpid(), n);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", m->path);
    unlink(m->path);
    m->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(m->fd, (struct sockaddr *)&address, sizeof address), 0);
}

static void note(struct manager *m, char *line)
{
    size_t used = strlen(m->others);

    if (strstr(line, " is stuck; "))
        m->told_stuck = true;
    if (strcmp(line, "WATCHDOG=1") == 0) {
        m->fed_at = clock_mono_ms();
        m->fed_stuck += m->told_stuck;
    } else if (strncmp(line, "STATUS=", 7) == 0)
        snprintf(m->status, sizeof m->status, "%s", line + 7);
    else if (sscanf(line, "MONOTONIC_USEC=%" SCNd64, &m->reload_stamp) != 1)
        snprintf(m->others + used, sizeof m->others - used, "%s ", line);
}

/* All that has come so far. */
static void listen_to(struct manager *m)
{
    char text[2048], *rest;
    ssize_t n;

    while ((n = recv(m->fd, text, sizeof text - 1, 0)) > 0) {
        text[n] = '\0';
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            note(m, line);
    }
}

static bool heard(struct manager *m, const char *words)
{
    listen_to(m);
    return strcmp(m->others, words) == 0;
}

static bool status_has(struct manager *m, const char *part)
{
    listen_to(m);
    return strstr(m->status, part) != NULL;
}

static void start(struct manager *m, const char *instance, const char *fault)
{
    setenv("NOTIFY_SOCKET", m->path, 1);
    setenv("WATCHDOG_USEC", "1000000", 1);
    program_faults(fault);
    program_start(&m->orderd, (const char *const[]){"orderd", "-c", testing_ctl_file, "-i", instance, NULL});
}

static void end(struct manager *m, int code)
{
    kill(m->orderd.pid, SIGTERM);
    program_wait(&m->orderd);
    ck_assert_int_eq(m->orderd.code, code);
    m->orderd.pid = 0;
}

static void setup(void)
{
    char more[512];

    sale_setup();
    snprintf(more, sizeof more,
             "create: { queue = \"%s\"; lanes = 1; }; payment: { lanes = 0; }; cancel: { lanes = 0; };\n"
             "log: { level = \"error\"; format = \"logfmt\"; }; walk: { enabled = false; };\n"
             "daemon: { drain_timeout = \"40s\"; };\n"
             "admin: { port = %d; };",
             SALE_QUEUE, testing_free_port());
    testing_ctl_configure(&(struct testing_ctl_conf){
        .db_more =
            "read_timeout = \"2s\"; lock_wait_timeout = \"1s\"; connect_timeout = \"1s\"; reconnect_max = \"100ms\";",
        .mq_more = "call_timeout = \"500ms\"; connect_timeout = \"1s\";",
        .more = more});
    sale_queue_empty();
    for (int n = 0; n < 2; n++)
        manager_open(&managers[n], n);
    sale_preheat();
}

static void teardown(void)
{
    for (int n = 0; n < 2; n++) {
        if (managers[n].orderd.pid > 0) {
            kill(managers[n].orderd.pid, SIGKILL);
            program_wait(&managers[n].orderd);
        }
        close(managers[n].fd);
        unlink(managers[n].path);
    }
    sale_teardown();
}

static void append_to_conf(const char *text)
{
    FILE *f = fopen(testing_ctl_file, "a");

    ck_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* A reload that is refused ends too, or the manager would wait for it; the status says why, until one succeeds. */
START_TEST(manager_follows)
{
    struct manager *m = &managers[0];
    struct program good;
    int64_t before;

    start(m, "1", NULL);
    testing_wait(heard(m, "READY=1 "), 15000, "READY=1");
    testing_wait(status_has(m, "running, ready; "), 5000, "the status says ready");
    before = clock_mono_us();
    kill(m->orderd.pid, SIGHUP);
    testing_wait(heard(m, "READY=1 RELOADING=1 READY=1 "), 5000, "the reload begins and ends");
    ck_assert_int_ge(m->reload_stamp, before);
    ck_assert(!status_has(m, "refused"));
    PROGRAM_RUN(&good, "orderctl", "-c", testing_ctl_file, "config", "check");
    ck_assert_int_eq(good.code, 0);
    append_to_conf("nonsense = 1;\n");
    kill(m->orderd.pid, SIGHUP);
    testing_wait(heard(m, "READY=1 RELOADING=1 READY=1 RELOADING=1 READY=1 "), 5000, "the refused one ends too");
    testing_wait(status_has(m, "reload refused: ") && strstr(m->status, "nonsense"), 3000, "the status says why");
    kill(m->orderd.pid, SIGUSR1);
    testing_wait(status_has(m, "quiet; "), 5000, "the status says quiet");
    kill(m->orderd.pid, SIGTERM);
    program_wait(&m->orderd);
    ck_assert_int_eq(m->orderd.code, 0);
    m->orderd.pid = 0;
    ck_assert(heard(m, "READY=1 RELOADING=1 READY=1 RELOADING=1 READY=1 STOPPING=1 EXTEND_TIMEOUT_USEC=45000000 "));
    ck_assert(status_has(m, "draining; "));
    ck_assert_int_gt(m->fed_at, 0);
}
END_TEST

/* The one whose lane sleeps in the middle of a batch is given up; the one whose database says nothing is not, for
 * longer than that takes. */
START_TEST(watchdog_is_about_threads)
{
    struct manager *stuck = &managers[0], *waiting = &managers[1];
    struct program load;
    pid_t database = (pid_t)atoi(testing_env("ORDERD_DB_PID"));
    int64_t began, longest = 0;

    start(stuck, "1", "create.taken=stall@1");
    testing_wait(heard(stuck, "READY=1 "), 15000, "the first is ready");
    PROGRAM_RUN(&load, "orderload", "fill", "1", "-c", testing_ctl_file, "--activity", sale_text);
    ck_assert_int_eq(load.code, 0);
    testing_wait(status_has(stuck, " 1 messages in hand"), 10000, "its lane has the message");
    began = clock_mono_ms();
    start(waiting, "2", NULL);
    testing_wait(heard(waiting, "READY=1 "), 15000, "the second is ready");
    testing_wait((listen_to(waiting), waiting->fed_at > 0), 5000, "it is fed");
    kill(database, SIGSTOP);
    while (clock_mono_ms() < began + BEAT_LIMIT_MS + 4000) {
        listen_to(stuck);
        listen_to(waiting);
        if (clock_mono_ms() - waiting->fed_at > longest)
            longest = clock_mono_ms() - waiting->fed_at;
        testing_pause();
    }
    kill(database, SIGCONT);
    ck_assert_msg(status_has(stuck, "running, not ready; create.0 is stuck; "), "%s", stuck->status);
    ck_assert_msg(stuck->fed_at < began + BEAT_LIMIT_MS + 1500, "fed %d ms after its lane went to sleep",
                  (int)(stuck->fed_at - began));
    ck_assert_msg(stuck->fed_at > began + BEAT_LIMIT_MS - 5000, "given up after %d ms", (int)(stuck->fed_at - began));
    ck_assert_int_eq(stuck->fed_stuck, 0); /* in the order of the socket, whatever the load */
    ck_assert_int_lt(longest, 5000);
    kill(stuck->orderd.pid, SIGKILL);
    program_wait(&stuck->orderd);
    stuck->orderd.pid = 0;
    ck_assert_msg(strstr(stuck->orderd.err, "event=thread_stuck") && strstr(stuck->orderd.err, " name=create.0 "), "%s",
                  stuck->orderd.err);
    testing_wait(status_has(waiting, "running, ready; "), 20000, "the second is ready again");
    end(waiting, 0);
    ck_assert(strstr(waiting->orderd.err, "thread_stuck") == NULL);
}
END_TEST

static void database_goes_on(void)
{
    kill((pid_t)atoi(testing_env("ORDERD_DB_PID")), SIGCONT);
}

int main(void)
{
    Suite *s = suite_create("service");
    TCase *c = tcase_create("manager");

    tcase_set_timeout(c, 90);
    tcase_add_unchecked_fixture(c, sale_queues_make, sale_queues_delete);
    tcase_add_unchecked_fixture(c, NULL, database_goes_on);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, manager_follows);
    tcase_add_test(c, watchdog_is_about_threads);
    suite_add_tcase(s, c);
    return testing_main(s);
}

#else

int main(void)
{
    return 77; /* built without the library */
}

#endif
