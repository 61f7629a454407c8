/* One command line from begin to end. */
#include "orderd/ctl.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "orderd/log.h"
#include "orderd/output.h"
#include "orderd/process.h"

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

static enum exitcode run(struct ctl *ctl, bool *failed)
{
    struct error err = {0};

    *failed = !ctl_commands[ctl->id].run(ctl, &err);
    if (!*failed)
        return ctl->code;
    fflush(stdout); /* what was done comes before why no more was */
    print_error(ctl, ctl->path, &err);
    return ctl->code == EXIT_USAGE || ctl->code == EXIT_NO_PERMISSION ? ctl->code : exitcode_of(&err);
}

enum exitcode ctl_main(int argc, char **argv)
{
    struct ctl ctl = {.conf_path = CTL_DEFAULT_CONF};
    struct error err = {0};
    enum exitcode code = EXIT_OK;
    bool failed = false;

    output_prepare();
    process_no_core();
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
        if (ctl.quiet)
            log_errors_only();
        db_library_init();
        code = run(&ctl, &failed);
        conf_destroy(&ctl.conf);
        db_library_end();
    }
    return output_end("orderctl", code, failed);
}
