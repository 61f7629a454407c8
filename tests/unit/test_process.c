/* thread and notify: what the kernel and the service manager are told. */
#include "testing.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "orderd/notify.h"
#include "orderd/process.h"
#include "orderd/thread.h"

struct seen {
    char name[16];
    sigset_t mask;
};

static void look(void *data)
{
    struct seen *seen = data;

    pthread_getname_np(pthread_self(), seen->name, sizeof seen->name);
    pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
}

START_TEST(thread_is_a_row)
{
    struct seen seen = {0};
    struct thread t = {.name = "create.0", .run = look, .data = &seen};
    sigset_t before, after;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    thread_start(&t);
    ck_assert(t.started);
    thread_join(&t);
    ck_assert(!t.started);
    thread_join(&t); /* nothing to wait for */
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    ck_assert_str_eq(seen.name, "create.0");
    ck_assert_int_eq(sigismember(&seen.mask, SIGTERM), 1);
    ck_assert_int_eq(sigismember(&seen.mask, SIGHUP), 1);
    ck_assert_int_eq(sigismember(&seen.mask, SIGPIPE), 1);
    ck_assert_int_eq(sigismember(&seen.mask, SIGSEGV), 0);
    for (int signal = 1; signal < SIGRTMAX; signal++)
        ck_assert_int_eq(sigismember(&before, signal), sigismember(&after, signal));
}
END_TEST

/* Its number and its start name a process; a child's are others. */
START_TEST(process_is_known_by_its_start)
{
    int64_t mine, again, child;
    pid_t pid = fork();

    if (pid == 0) {
        pause();
        _exit(0);
    }
    ck_assert(process_started(getpid(), &mine) && process_started(getpid(), &again) && process_started(pid, &child));
    ck_assert_int_eq(mine, again);
    ck_assert_int_gt(mine, 0);
    ck_assert_int_ge(child, mine);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert(!process_started(pid, &child));
}
END_TEST

#if __has_include(<systemd/sd-daemon.h>)

static int manager = -1;

static void become_manager(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/orderd_notify_%d", (int)getpid());
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(manager, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
}

static void resign(void)
{
    unlink(getenv("NOTIFY_SOCKET"));
    close(manager);
}

static const char *heard(void)
{
    static char text[512];
    ssize_t n = recv(manager, text, sizeof text - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

START_TEST(manager_is_told)
{
    int64_t from = clock_mono_us(), stamp;

    notify_ready();
    ck_assert_str_eq(heard(), "READY=1");
    notify_stopping(25000);
    ck_assert_str_eq(heard(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=30000000");
    notify_watchdog();
    ck_assert_str_eq(heard(), "WATCHDOG=1");
    notify_status("%d lanes\nREADY=1", 2);
    ck_assert_str_eq(heard(), "STATUS=2 lanes READY=1");
    notify_reloading();
    ck_assert_int_eq(sscanf(heard(), "RELOADING=1\nMONOTONIC_USEC=%" SCNd64, &stamp), 1);
    ck_assert_int_ge(stamp, from);
    ck_assert_int_le(stamp, clock_mono_us());
}
END_TEST

START_TEST(watchdog)
{
    char pid[32];

    ck_assert_int_eq(notify_watchdog_interval_ms(), 0);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    setenv("WATCHDOG_USEC", "20000000", 1);
    ck_assert_int_eq(notify_watchdog_interval_ms(), 10000);
    setenv("WATCHDOG_PID", "1", 1);
    ck_assert_int_eq(notify_watchdog_interval_ms(), 0);
}
END_TEST

#endif

int main(void)
{
    Suite *s = suite_create("process");
    TCase *c = tcase_create("process");

    tcase_add_test(c, thread_is_a_row);
    tcase_add_test(c, process_is_known_by_its_start);
#if __has_include(<systemd/sd-daemon.h>)
    tcase_add_checked_fixture(c, become_manager, resign);
    tcase_add_test(c, manager_is_told);
    tcase_add_test(c, watchdog);
#endif
    suite_add_tcase(s, c);
    return testing_main(s);
}
