/* fault: each action at the passing it is ordered for; in builds without fault points, nothing. */
#include "testing.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orderd/exitcode.h"
#include "orderd/fault.h"

#define SURVIVED 42

/* Passes one point up to `times` times in a process of its own; each passing is a byte in a pipe, 'f' where it failed.
 */
static int pass(const char *faults, int times, char *passings, size_t size)
{
    int ends[2], status;
    ssize_t n, len = 0;
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        dup2(ends[1], STDERR_FILENO);
        setenv("ORDERD_FAULT", faults, 1);
        for (int i = 0; i < times; i++) {
            bool fails = FAULT_FAILS(CREATE_BEFORE_COMMIT);

            FAULT(CREATE_TAKEN);
            if (write(ends[1], fails ? "f" : ".", 1) != 1)
                _exit(1);
        }
        _exit(SURVIVED);
    }
    close(ends[1]);
    while ((n = read(ends[0], passings + len, size - 1 - (size_t)len)) > 0)
        len += n;
    passings[len] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

#ifdef ORDERD_FAULTS

static const struct {
    const char *faults, *passings;
    int signal, status;
} actions[] = {
    {"", "....", 0, SURVIVED},
    {"create.before_commit=kill@2", ".", SIGKILL, 0},
    {"create.before_commit=exit@3", "..", 0, 1},
    {"create.before_commit=fail@2", ".f..", 0, SURVIVED},
    {"create.before_commit=fail@2+", ".fff", 0, SURVIVED},
    {"create.before_commit=fail@5", "....", 0, SURVIVED},
    {"create.before_commit=fail@1,create.before_commit=fail@3", "f.f.", 0, SURVIVED},
    {"create.before_commit=fail@1,create.taken=kill@4", "f..", SIGKILL, 0},
    {"create.taken=fail@1+", "....", 0, SURVIVED},
    {"create.after_ack=kill@1", "....", 0, SURVIVED},
};

START_TEST(action)
{
    char passings[64];
    int status = pass(actions[_i].faults, 4, passings, sizeof passings);

    ck_assert_str_eq(passings, actions[_i].passings);
    if (actions[_i].signal) {
        ck_assert(WIFSIGNALED(status));
        ck_assert_int_eq(WTERMSIG(status), actions[_i].signal);
    } else {
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), actions[_i].status);
    }
}
END_TEST

#define EXPECTED " (expected point=kill|exit|fail|stall|stop@n or @n+, separated by commas)\n"

static const struct {
    const char *faults, *sentence;
} bad[] = {
    {"create.befor_commit=kill@1", "\"create.befor_commit\" is not a fault point"},
    {"create.before_commit=explode@1", "\"explode\" is not an action"},
    {"create.before_commit=kill", "\"create.before_commit=kill\" is not a fault"},
    {"create.before_commit", "\"create.before_commit\" is not a fault"},
    {"create.taken=kill@9,", "\"\" is not a fault"},
    {"create.before_commit=kill@0", "\"0\" is not a passing, 1 or more"},
    {"create.before_commit=kill@", "\"\" is not a passing, 1 or more"},
    {"create.before_commit=kill@2x", "\"2x\" is not a passing, 1 or more"},
};

START_TEST(misspelled)
{
    char printed[256], expected[256];
    int status = pass(bad[_i].faults, 1, printed, sizeof printed);

    snprintf(expected, sizeof expected, "orderd: ORDERD_FAULT: %s%s", bad[_i].sentence, EXPECTED);
    ck_assert_str_eq(printed, expected);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), EXIT_USAGE);
}
END_TEST

/* The process is still there, silent, after the first passing; then it is ended from outside. */
START_TEST(stall)
{
    int ends[2], status;
    char byte;
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        setenv("ORDERD_FAULT", "create.taken=stall@2", 1);
        for (int i = 0; i < 2; i++) {
            FAULT(CREATE_TAKEN);
            if (write(ends[1], ".", 1) != 1)
                _exit(1);
        }
        _exit(SURVIVED);
    }
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    usleep(200000); /* that nothing happens cannot be waited for */
    ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
}
END_TEST

START_TEST(stop)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        setenv("ORDERD_FAULT", "create.taken=stop@1", 1);
        FAULT(CREATE_TAKEN);
        _exit(SURVIVED);
    }
    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    ck_assert(WIFSTOPPED(status));
    kill(pid, SIGCONT);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), SURVIVED);
}
END_TEST

#else

START_TEST(nothing_is_compiled_in)
{
    char passings[64];
    int status = pass("create.before_commit=kill@1,not even=a point", 2, passings, sizeof passings);

    ck_assert_str_eq(passings, "..");
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), SURVIVED);
}
END_TEST

#endif

int main(void)
{
    Suite *s = suite_create("fault");
    TCase *c = tcase_create("fault");

#ifdef ORDERD_FAULTS
    tcase_add_loop_test(c, action, 0, sizeof actions / sizeof *actions);
    tcase_add_loop_test(c, misspelled, 0, sizeof bad / sizeof *bad);
    tcase_add_test(c, stall);
    tcase_add_test(c, stop);
#else
    tcase_add_test(c, nothing_is_compiled_in);
#endif
    suite_add_tcase(s, c);
    return testing_main(s);
}
