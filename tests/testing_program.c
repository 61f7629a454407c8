#include "testing_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "testing_exec.h"

#define PATIENCE_MS 60000

static const char *faults;
static int output = PROGRAM_KEEPS;

void program_faults(const char *text)
{
    faults = text;
}

void program_output(int fd)
{
    output = fd;
}

static void become(const struct testing_exec *e, const char *const *argv, int in, int out, int err)
{
    dup2(in, STDIN_FILENO);
    dup2(output >= 0 ? output : out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (output == PROGRAM_CLOSED)
        close(STDOUT_FILENO);
    execve(e->path, (char *const *)(uintptr_t)argv, e->env);
    _exit(127);
}

static void prepare(struct testing_exec *e, const char *program)
{
    static char variable[600];
    const char *const changes[] = {faults ? variable : NULL, NULL};

    ck_assert_int_lt(snprintf(variable, sizeof variable, "ORDERD_FAULT=%s", faults ? faults : ""), sizeof variable);
    testing_exec_prepare(e, program, changes);
}

void program_start_reading(struct program *p, const char *const *argv, int in)
{
    struct testing_exec exec;
    int out[2], err[2];

    memset(p, 0, sizeof *p);
    prepare(&exec, argv[0]);
    ck_assert(pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0);
    p->pid = fork();
    ck_assert(p->pid >= 0);
    if (p->pid == 0)
        become(&exec, argv, in, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    p->out_fd = out[0];
    p->err_fd = err[0];
}

void program_start(struct program *p, const char *const *argv)
{
    int null = open("/dev/null", O_RDONLY);

    program_start_reading(p, argv, null);
    close(null);
}

/* What does not fit is read and dropped, so that the program never waits for us. */
static void collect(int *fd, char *text, size_t size)
{
    size_t len = strlen(text);
    char dropped[4096];
    bool full = len + 1 >= size;
    ssize_t n = read(*fd, full ? dropped : text + len, full ? sizeof dropped : size - len - 1);

    if (n > 0 || (n < 0 && errno == EINTR))
        return;
    close(*fd);
    *fd = -1;
}

void program_wait(struct program *p)
{
    int64_t deadline = clock_mono_ms() + PATIENCE_MS;
    int status;

    while (p->out_fd >= 0 || p->err_fd >= 0) {
        struct pollfd fds[] = {{.fd = p->out_fd, .events = POLLIN}, {.fd = p->err_fd, .events = POLLIN}};

        if (clock_mono_ms() >= deadline) {
            kill(p->pid, SIGKILL);
            ck_abort_msg("the program did not end in %d ms; it said: %s", PATIENCE_MS, p->err);
        }
        if (poll(fds, 2, 1000) <= 0)
            continue;
        if (fds[0].revents)
            collect(&p->out_fd, p->out, sizeof p->out);
        if (fds[1].revents)
            collect(&p->err_fd, p->err, sizeof p->err);
    }
    ck_assert(waitpid(p->pid, &status, 0) == p->pid);
    p->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
