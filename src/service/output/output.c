#include "orderd/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "orderd/standard_fds.h"

void output_prepare(void)
{
    standard_fds_hold();
    signal(SIGPIPE, SIG_IGN);
}

static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP);
}

enum exitcode output_end(const char *program, enum exitcode code, bool failed)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || failed || reader_is_gone())
        return code;
    fprintf(stderr, "%s: cannot write to standard output%s%s\n", program, errno ? ": " : "",
            errno ? strerror(errno) : "");
    return EXIT_IO;
}
