/* orderctl top */
#include "orderd/top.h"

#include <jansson.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "endpoint.h"
#include "orderd/clock.h"
#include "orderd/units.h"
#include "print.h"

#define OPTION(name) (&ctl->values[CTL_OPTION_top_##name])

/* Whom is asked, and whether it ever answered anything. */
struct asked {
    struct endpoint endpoint;
    bool answered;
};

static bool ask(void *arg, const char *path, int stop_fd, int *status, struct strbuf *out, struct error *err)
{
    struct asked *asked = arg;

    if (!endpoint_ask(&asked->endpoint, path, stop_fd, status, out, err))
        return false;
    asked->answered = true;
    return true;
}

/* Not by the locale in force: orderctl always reads UTF-8. What its terminal shows is what the environment says. */
static bool shows_utf8(void)
{
    locale_t theirs = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    bool utf8 = theirs && strcmp(nl_langinfo_l(CODESET, theirs), "UTF-8") == 0;

    if (theirs)
        freelocale(theirs);
    return utf8;
}

static bool has_cursor(void)
{
    const char *term = getenv("TERM");

    return term && term[0] && strcmp(term, "dumb") != 0;
}

/* ---- one frame ---- */

static int width_of_output(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int64_t n;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return columns && units_parse_i64(columns, 20, 1000, &n) ? (int)n : 80;
}

static bool print_frame(const struct top *top, struct error *err)
{
    struct strbuf out = STRBUF_INIT;
    bool ok = top_once(top, width_of_output(), &out, err);

    if (ok)
        fwrite(out.data, 1, out.len, stdout);
    strbuf_release(&out);
    return ok;
}

/* ---- documents ---- */

/* On one line, whatever the daemon's own layout is. */
static bool print_document(const struct strbuf *text)
{
    json_t *document = json_loadb(text->data, text->len, JSON_ALLOW_NUL, NULL);
    bool ok = document && json_dumpf(document, stdout, JSON_COMPACT) == 0;

    json_decref(document);
    return putchar('\n') != EOF && fflush(stdout) == 0 && ok;
}

/* false: nobody reads standard output any more. */
static bool reader_waits(int64_t ms)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, (int)ms) == 0 || !(out.revents & (POLLERR | POLLHUP));
}

/* A daemon that is away is told once, and is waited for. */
static bool print_next(const struct top *top, bool *away, struct error *err)
{
    struct strbuf text = STRBUF_INIT;
    struct sale_view *sale = top_fetch(top, -1, &text, err);
    bool ok = true;

    if (sale)
        ok = print_document(&text);
    else if (!*away)
        print_warning("%s; trying on", err->text);
    *away = sale == NULL;
    sale_view_destroy(&sale);
    strbuf_release(&text);
    return ok;
}

static bool print_documents(const struct top *top, bool once, struct error *err)
{
    struct strbuf text = STRBUF_INIT;
    struct sale_view *sale = top_fetch(top, -1, &text, err);
    bool known = sale != NULL, away = false, go_on = known && print_document(&text) && !once;
    int64_t next = clock_mono_ms();

    sale_view_destroy(&sale);
    strbuf_release(&text);
    while (go_on) {
        int64_t now = clock_mono_ms();

        next = next + top->interval_ms > now ? next + top->interval_ms : now;
        go_on = reader_waits(next - now) && print_next(top, &away, err);
    }
    return known;
}

/* ---- the command ---- */

static bool show(struct ctl *ctl, const struct top *top, struct error *err)
{
    bool once = OPTION(once)->set, terminal = isatty(STDOUT_FILENO);

    if (ctl->json)
        return print_documents(top, once, err);
    if (!once && terminal && has_cursor())
        return top_live(top, err);
    if (!print_frame(top, err))
        return false;
    if (!once && !terminal)
        print_note(ctl, "standard output is no terminal: one frame, as with --once");
    else if (!once)
        print_note(ctl, "this terminal (TERM) has no cursor to move: one frame, as with --once");
    return true;
}

bool ctl_top(struct ctl *ctl, struct error *err)
{
    struct asked asked = {.answered = false};
    struct top top = {
        .interval_ms = OPTION(interval)->number,
        .activity = OPTION(activity)->set ? OPTION(activity)->number : 0,
        .color = ctl->color,
        .utf8 = shows_utf8(),
        .ask = ask,
        .arg = &asked,
    };

    if (!endpoint_find(ctl, ctl->operand_count > 0 ? ctl->operands[0] : "", &asked.endpoint, err))
        return false;
    if (show(ctl, &top, err))
        return true;
    if (err->code == ERROR_ADMIN_AWAY && !asked.answered)
        endpoint_advise(ctl);
    return false;
}
