/* orderctl dlq show */
#include <inttypes.h>
#include <stdio.h>

#include "dlq.h"
#include "dlq_made.h"
#include "orderd/clock.h"
#include "payload.h"
#include "record.h"

#define PAGE 500 /* lines of a history */

struct showing {
    struct ctl *ctl;
    struct db *db;
    struct dlq_selection chosen;
    struct strbuf line; /* --json: the letter, whose history is to be added */
    int64_t shown, missing;
};

/* ---- JSON ---- */

static void begin_record(struct strbuf *line, const struct dead_letter_row *row)
{
    record_open(line, NULL, '{');
    dlq_record(line, row);
    record_slice(line, "content_type", row->content_type);
    strbuf_add_str(line, ",\"headers\":");
    strbuf_add_slice(line, row->headers);
    dlq_made_record_bytes(line, "body", row->body);
}

static void end_record(struct strbuf *line)
{
    record_close(line, ']');
    record_close(line, '}');
    record_print(line);
}

/* ---- text ---- */

static void begin_line(const char *name)
{
    printf("  %-12s", name);
}

static void print_value(const char *name, struct slice value)
{
    begin_line(name);
    print_escaped(value.ptr, value.len, 0, ESCAPE_TEXT);
}

static void print_time(const char *name, const struct dead_letter_row *row, int64_t moment)
{
    char iso[32], span[SPAN_TEXT];

    clock_format_iso(iso, sizeof iso, moment);
    begin_line(name);
    printf("%s, %s ago\n", iso, span_text(span, row->now > moment ? row->now - moment : 0));
}

static void print_bytes(const char *name, struct slice bytes)
{
    struct strbuf json = STRBUF_INIT;
    bool indented = payload_indent(bytes, &json);

    begin_line(name);
    printf("%zu bytes%s\n", bytes.len, indented ? " of JSON" : "");
    if (indented)
        print_escaped(json.data, json.len, 4, ESCAPE_JSON);
    else if (bytes.len)
        print_escaped(bytes.ptr, bytes.len, 4, ESCAPE_TEXT);
    strbuf_release(&json);
}

static void print_letter(const struct ctl *ctl, const struct dead_letter_row *row)
{
    printf("letter %" PRId64 "\n", row->id);
    begin_line("state");
    print_word(ctl, dead_letter_state_name(row->state), 0, dlq_tint(row->state));
    putchar('\n');
    print_value("reason", row->reason);
    print_value("detail", row->detail);
    print_value("queue", row->queue);
    if (row->activity_id) {
        begin_line("activity");
        printf("%" PRId64 "\n", row->activity_id);
    }
    if (row->order_no.ptr)
        print_value("order", row->order_no);
    print_value("message id", row->message_id);
    begin_line("retries");
    printf("%" PRId64 "\n", row->attempts);
    begin_line("deaths");
    printf("%" PRId64 "\n", row->times);
    print_time("died", row, row->died_at);
    print_time("taken", row, row->taken_at);
    print_bytes("headers", row->headers);
    print_bytes("body", row->body);
}

static void print_action(const struct dead_letter_action *a)
{
    struct strbuf text = STRBUF_INIT;
    char iso[32];

    clock_format_iso(iso, sizeof iso, a->done_at);
    strbuf_addf(&text, "%s ", iso);
    strbuf_add_slice(&text, a->action);
    strbuf_add_str(&text, " by ");
    strbuf_add_slice(&text, a->who);
    if (a->note.len) {
        strbuf_add_str(&text, ": ");
        strbuf_add_slice(&text, a->note);
    }
    fputs("    ", stdout);
    print_escaped(text.data, text.len, 0, ESCAPE_TEXT);
    strbuf_release(&text);
}

/* ---- show ---- */

static void show(void *arg, const struct dead_letter_row *row)
{
    struct showing *s = arg;

    if (s->ctl->json)
        begin_record(&s->line, row);
    else
        print_letter(s->ctl, row);
    dlq_made_origin(s->ctl, row, &s->line);
}

static void show_action(void *arg, const struct dead_letter_action *action)
{
    struct showing *s = arg;

    if (s->ctl->json)
        dlq_record_action(&s->line, action);
    else
        print_action(action);
}

static bool show_history(struct showing *s, int64_t id, struct error *err)
{
    const struct dead_letter_action_filter of = {.letters = &id, .letter_count = 1};
    int64_t after = 0;
    bool end = false;

    if (s->ctl->json) {
        record_open(&s->line, "history", '[');
    } else {
        begin_line("history");
        putchar('\n');
    }
    while (!end) {
        if (!dead_letter_actions(s->db, &of, &after, PAGE, show_action, s, &end, err))
            return false;
    }
    if (s->ctl->json)
        end_record(&s->line);
    return true;
}

static bool show_one(struct showing *s, int64_t id, struct error *err)
{
    bool found;

    if (!dead_letter_store_get(s->db, id, show, s, &found, err))
        return false;
    if (found) {
        s->shown++;
        return dlq_made_show(s->ctl, s->db, id, &s->line, err) && show_history(s, id, err);
    }
    s->missing++;
    if (s->chosen.ids.count != 1)
        print_warning("there is no letter %" PRId64, id);
    return true;
}

static bool show_all(struct showing *s, struct error *err)
{
    struct dlq_walk walk = {.of = &s->chosen};
    bool ok = true;

    while (ok && !walk.end && !ferror(stdout)) {
        ok = dlq_walk_next(s->db, &walk, err);
        for (size_t i = 0; i < walk.count && ok && !ferror(stdout); i++)
            ok = show_one(s, walk.ids[i], err);
    }
    dlq_walk_end(&walk);
    return ok;
}

static bool conclude(struct showing *s, struct error *err)
{
    const struct dlq_ids *ids = &s->chosen.ids;

    if (s->shown == 0 && s->missing == 0)
        print_note(s->ctl, s->chosen.named ? "standard input named no letter" : "there is no such letter");
    if (s->shown == 0 && s->missing > 0) {
        ctl_advise(s->ctl, "see `orderctl dlq list`");
        return ids->count == 1 ? error_set(err, ERROR_REFUSED, "there is no letter %" PRId64, ids->list[0])
                               : error_set(err, ERROR_REFUSED, "there is no letter of these ids");
    }
    if (s->missing)
        s->ctl->code = EXIT_PARTIAL;
    return true;
}

bool ctl_dlq_show(struct ctl *ctl, struct error *err)
{
    struct showing s = {.ctl = ctl};
    bool ok = dlq_select(ctl, true, &s.chosen, err) && (s.db = ctl_open_schema(ctl, err)) &&
              dlq_select_times(ctl, s.db, &s.chosen, err) && show_all(&s, err) && conclude(&s, err);

    strbuf_release(&s.line);
    db_close(&s.db);
    dlq_select_free(&s.chosen);
    return ok;
}
