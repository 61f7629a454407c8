/* One command line from begin to end. */
#include "orderd/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "orderd/log.h"

/* A descriptor that the caller closed must not become a socket. Opened for reading, so that output to it still fails
 * and is reported. */
static void hold_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static bool wants_color(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no_color && no_color[0]) && !(term && strcmp(term, "dumb") == 0);
}

static void print_error(const struct ctl *ctl, const char *what, const struct error *err)
{
    fprintf(stderr, "orderctl: %s%s%s%s%s\n", what, what[0] ? ": " : "", err->text, ctl->advice[0] ? "; " : "",
            ctl->advice);
}

static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP);
}

/* A reader that has seen enough (`| head`) is no failure, and what the command did stays done; a full disk is one. */
static enum exitcode end_output(enum exitcode code)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || reader_is_gone())
        return code;
    fprintf(stderr, "orderctl: cannot write to standard output%s%s\n", errno ? ": " : "", errno ? strerror(errno) : "");
    return code == EXIT_OK ? EXIT_IO : code;
}

static void print_help(const struct ctl *ctl)
{
    struct strbuf text = STRBUF_INIT;

    if (ctl->version && !ctl->help)
        strbuf_add_str(&text, "orderctl " ORDERD_VERSION "\n");
    else
        ctl_help(ctl, &text);
    fwrite(text.data, 1, text.len, stdout);
    strbuf_release(&text);
}

static enum exitcode run(struct ctl *ctl)
{
    struct error err = {0};

    if (ctl_commands[ctl->id].run(ctl, &err))
        return ctl->code;
    fflush(stdout); /* what was done comes before why no more was */
    print_error(ctl, ctl->path, &err);
    return ctl->code == EXIT_USAGE ? EXIT_USAGE : exitcode_of(&err);
}

enum exitcode ctl_main(int argc, char **argv)
{
    struct ctl ctl = {.conf_path = CTL_DEFAULT_CONF};
    struct error err = {0};
    enum exitcode code = EXIT_OK;

    hold_standard_files();
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_CTYPE, "C.UTF-8");
    log_set_identity("orderctl", "");
    ctl.color = wants_color();
    if (!ctl_parse(&ctl, argc, argv, &err)) {
        print_error(&ctl, "", &err);
        return EXIT_USAGE;
    }
    if (ctl.help || ctl.version) {
        print_help(&ctl);
    } else {
        db_library_init();
        code = run(&ctl);
        conf_destroy(&ctl.conf);
        db_library_end();
    }
    return end_output(code);
}
