/* orderctl outbox stats */
#include <inttypes.h>
#include <stdio.h>

#include "outbox.h"
#include "record.h"

/* ---- JSON ---- */

static void record_count(struct strbuf *line, const struct local_message_count *c)
{
    record_open(line, NULL, '{');
    record_slice(line, "topic", c->topic);
    record_text(line, "state", local_message_state_name(c->state));
    record_number(line, "rows", c->rows);
    record_number(line, "due", c->due);
    record_number(line, "leased", c->leased);
    record_number(line, "oldest_ms", c->oldest_ms);
    record_number(line, "overdue_ms", c->overdue_ms);
    record_close(line, '}');
}

static void record_failure(struct strbuf *line, const struct local_message_failure *f)
{
    record_open(line, NULL, '{');
    record_slice(line, "topic", f->topic);
    record_text(line, "state", local_message_state_name(f->state));
    record_number(line, "rows", f->rows);
    record_slice(line, "last_error", f->last_error);
    record_close(line, '}');
}

static void print_record(const struct local_message_stats *s)
{
    const struct local_message_count *pending = &s->by_state[LOCAL_MESSAGE_STATE_PENDING];
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    for (int i = 0; i < LOCAL_MESSAGE_STATE_COUNT; i++)
        record_number(&line, local_message_state_name((enum local_message_state)i), s->by_state[i].rows);
    record_number(&line, "due", pending->due);
    record_number(&line, "leased", pending->leased);
    record_number(&line, "oldest_pending_ms", pending->oldest_ms);
    record_number(&line, "overdue_ms", pending->overdue_ms);
    record_open(&line, "topics", '[');
    for (size_t i = 0; i < s->count; i++)
        record_count(&line, &s->counts[i]);
    record_close(&line, ']');
    record_open(&line, "errors", '[');
    for (size_t i = 0; i < s->failure_count; i++)
        record_failure(&line, &s->failures[i]);
    record_close(&line, ']');
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

/* ---- text ---- */

static void print_counts(const struct ctl *ctl, const struct local_message_stats *s)
{
    static const char *const heads[] = {"TOPIC", "STATE", "-ROWS", "-DUE", "-LEASED", "-OLDEST"};
    struct table t;

    table_begin(&t, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < s->count; i++) {
        const struct local_message_count *c = &s->counts[i];

        table_slice(&t, c->topic, TINT_NONE);
        table_text(&t, local_message_state_name(c->state), outbox_tint(c->state));
        table_number(&t, c->rows);
        if (c->state == LOCAL_MESSAGE_STATE_PENDING) {
            table_number(&t, c->due);
            table_number(&t, c->leased);
        } else {
            table_text(&t, "-", TINT_DIM);
            table_text(&t, "-", TINT_DIM);
        }
        table_span(&t, c->oldest_ms);
    }
    table_end(ctl, &t);
}

static void print_failures(const struct ctl *ctl, const struct local_message_stats *s)
{
    static const char *const heads[] = {"-ROWS", "STATE", "TOPIC", "LAST ERROR"};
    struct table t;

    table_begin(&t, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < s->failure_count; i++) {
        const struct local_message_failure *f = &s->failures[i];

        table_number(&t, f->rows);
        table_text(&t, local_message_state_name(f->state), outbox_tint(f->state));
        table_slice(&t, f->topic, TINT_NONE);
        table_slice(&t, f->last_error, TINT_NONE);
    }
    putchar('\n');
    table_end(ctl, &t);
}

static void print_pending(const struct local_message_count *pending)
{
    char oldest[SPAN_TEXT], overdue[SPAN_TEXT];

    if (pending->rows == 0)
        puts("Nothing is pending.");
    else if (pending->overdue_ms == 0)
        printf("Oldest pending message: %s old; none is late.\n", span_text(oldest, pending->oldest_ms));
    else
        printf("Oldest pending message: %s old; latest by %s.\n", span_text(oldest, pending->oldest_ms),
               span_text(overdue, pending->overdue_ms));
}

static void print_text(const struct ctl *ctl, const struct local_message_stats *s)
{
    if (s->count == 0) {
        print_note(ctl, "the local message table is empty");
        return;
    }
    print_counts(ctl, s);
    putchar('\n');
    print_pending(&s->by_state[LOCAL_MESSAGE_STATE_PENDING]);
    if (s->failure_count)
        print_failures(ctl, s);
    if (s->by_state[LOCAL_MESSAGE_STATE_QUARANTINED].rows)
        print_note(ctl, "%" PRId64 " quarantined messages wait for somebody to act; see `orderctl outbox retry --help`",
                   s->by_state[LOCAL_MESSAGE_STATE_QUARANTINED].rows);
}

static void progress(void *arg, int64_t rows)
{
    print_progress(arg, "%" PRId64 " counted", rows);
}

bool ctl_outbox_stats(struct ctl *ctl, struct error *err)
{
    struct local_message_stats stats = {0};
    struct db *db = ctl_open_schema(ctl, err);
    bool ok = db && local_message_stats_read(db, &stats, progress, ctl, err);

    print_progress_end();
    if (ok && ctl->json)
        print_record(&stats);
    else if (ok)
        print_text(ctl, &stats);
    local_message_stats_release(&stats);
    db_close(&db);
    return ok;
}
