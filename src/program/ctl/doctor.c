/* orderctl doctor: are servers and settings fit for orderd? */
#include "doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "record.h"

#define SERVERS       3

#define VERDICT_WIDTH 9
#define NAME_WIDTH    21

static const struct {
    const char *name, *advice;
} checks[DOCTOR_CHECK_COUNT] = {
#define X(id, name, advice) [DOCTOR_##id] = {name, advice},
#include "orderd/tbl/doctor_check.h"
#undef X
};

/* A blank behind the longest name. */
#define X(id, name, advice) _Static_assert(sizeof(name) <= NAME_WIDTH, "NAME_WIDTH is too small for " name);
#include "orderd/tbl/doctor_check.h"
#undef X

static const struct {
    const char *name;
    enum tint tint;
} verdicts[DOCTOR_VERDICT_COUNT] = {
    [DOCTOR_OK] = {"ok", TINT_GOOD},
    [DOCTOR_LOOK] = {"look", TINT_DIM},
    [DOCTOR_WARNING] = {"warning", TINT_CHANGED},
    [DOCTOR_PROBLEM] = {"problem", TINT_BAD},
};

struct line {
    enum doctor_verdict verdict;
    enum doctor_check check;
    const char *subject, *advice; /* advice: NULL for none */
    char finding[ERROR_TEXT_MAX + 64];
};

static void print_json(const struct line *l)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_text(&line, "check", checks[l->check].name);
    record_text(&line, "subject", l->subject);
    record_text(&line, "verdict", verdicts[l->verdict].name);
    record_text(&line, "finding", l->finding);
    record_text(&line, "advice", l->advice);
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

static void print_line(struct doctor *d, const struct line *l)
{
    const char **advised = &d->advised[l->check];
    bool again = !l->advice || (*advised && strcmp(*advised, l->advice) == 0);
    struct strbuf text = STRBUF_INIT;

    print_word(d->ctl, verdicts[l->verdict].name, VERDICT_WIDTH, verdicts[l->verdict].tint);
    print_word(d->ctl, checks[l->check].name, NAME_WIDTH, TINT_NONE);
    strbuf_addf(&text, "%s%s%s%s%s", l->subject ? l->subject : "", l->subject ? ": " : "", l->finding,
                again ? "" : "; ", again ? "" : l->advice);
    print_prose(text.data, VERDICT_WIDTH + NAME_WIDTH);
    strbuf_release(&text);
    if (l->advice)
        *advised = l->advice;
}

static void ORDERD_PRINTF(3, 0) tell(struct doctor *d, struct line *l, const char *fmt, va_list ap)
{
    vsnprintf(l->finding, sizeof l->finding, fmt, ap);
    if (l->verdict == DOCTOR_OK || (l->advice && !l->advice[0]))
        l->advice = NULL;
    else if (!l->advice)
        l->advice = checks[l->check].advice;
    d->count[l->verdict]++;
    if (d->ctl->json)
        print_json(l);
    else
        print_line(d, l);
    fflush(stdout); /* the next server may take its time-out to be away */
}

void doctor_tell(struct doctor *d, enum doctor_verdict verdict, enum doctor_check check, const char *subject,
                 const char *fmt, ...)
{
    struct line line = {verdict, check, subject, NULL, ""};
    va_list ap;

    va_start(ap, fmt);
    tell(d, &line, fmt, ap);
    va_end(ap);
}

void doctor_tell_advice(struct doctor *d, enum doctor_verdict verdict, enum doctor_check check, const char *advice,
                        const char *subject, const char *fmt, ...)
{
    struct line line = {verdict, check, subject, advice, ""};
    va_list ap;

    va_start(ap, fmt);
    tell(d, &line, fmt, ap);
    va_end(ap);
}

void doctor_failed(struct doctor *d, enum doctor_check server, const char *subject, const struct error *err)
{
    if (error_class_of(err) == ERROR_CLASS_OUTAGE)
        d->away++;
    doctor_tell_advice(d, DOCTOR_PROBLEM, server, doctor_advice(server, err), subject, "%s", err->text);
    d->ctl->advice[0] = '\0'; /* said in the line */
}

/* ---- clocks ---- */

struct doctor_clock doctor_clock(int64_t asked_ms, int64_t answered_ms, int64_t its_ms)
{
    int64_t took = answered_ms - asked_ms;

    return (struct doctor_clock){true, its_ms - (asked_ms + took / 2), took / 2 + 1};
}

static int64_t distance(int64_t ms)
{
    return ms < 0 ? -ms : ms;
}

enum doctor_verdict doctor_judge_clock(int64_t ahead_ms, int64_t error_ms)
{
    int64_t off = distance(ahead_ms) - error_ms;

    return off < 1000 ? DOCTOR_OK : off < 60000 ? DOCTOR_WARNING : DOCTOR_PROBLEM;
}

void doctor_tell_clock(struct doctor *d, enum doctor_check check, const char *subject, const struct doctor_clock *clock)
{
    doctor_tell(d, doctor_judge_clock(clock->ahead_ms, clock->error_ms), check, subject,
                "its clock is %" PRId64 " ms %s this machine's (read to within %" PRId64 " ms)",
                distance(clock->ahead_ms), clock->ahead_ms < 0 ? "behind" : "ahead of", clock->error_ms);
}

/* A sale begins and ends by the clock of Redis, and an order is due by that of MySQL. */
static void compare_clocks(struct doctor *d)
{
    int64_t ahead = d->mysql.ahead_ms - d->redis.ahead_ms;

    if (!d->mysql.known || !d->redis.known)
        return;
    doctor_tell(d, doctor_judge_clock(ahead, d->mysql.error_ms + d->redis.error_ms), DOCTOR_CLOCKS, NULL,
                "the clock of MySQL is %" PRId64 " ms %s that of Redis", distance(ahead),
                ahead < 0 ? "behind" : "ahead of");
}

/* ---- the command ---- */

static enum exitcode verdict_of(const struct doctor *d)
{
    if (d->away == SERVERS)
        return EXIT_UNAVAILABLE;
    if (d->away)
        return EXIT_PARTIAL;
    return d->count[DOCTOR_PROBLEM] ? EXIT_FAILED : EXIT_OK;
}

bool ctl_doctor(struct ctl *ctl, struct error *err)
{
    struct doctor d = {.ctl = ctl};

    if (!ctl_load_conf(ctl, err))
        return false;
    doctor_files(&d);
    doctor_mysql(&d);
    doctor_redis(&d);
    compare_clocks(&d);
    doctor_broker(&d);
    free(d.timeouts);
    print_note(ctl, "%u ok, %u to look at, %u warning%s, %u problem%s%s", d.count[DOCTOR_OK], d.count[DOCTOR_LOOK],
               d.count[DOCTOR_WARNING], d.count[DOCTOR_WARNING] == 1 ? "" : "s", d.count[DOCTOR_PROBLEM],
               d.count[DOCTOR_PROBLEM] == 1 ? "" : "s", d.away ? "; what could not be reached was not looked at" : "");
    ctl->code = verdict_of(&d);
    return true;
}
