/* orderctl dlq export */
#include <inttypes.h>
#include <stdio.h>

#include "dlq.h"
#include "orderd/dead_letter_made.h"
#include "payload.h"
#include "record.h"

#define PAGE 500 /* lines of a history */

struct exporting {
    struct ctl *ctl;
    struct db *db;
    struct dlq_selection chosen;
    struct strbuf line;
    size_t written;
};

/* "name": as text, or "name_base64". */
static void record_bytes(struct strbuf *line, const char *name, struct slice bytes)
{
    struct strbuf base64 = STRBUF_INIT, long_name = STRBUF_INIT;

    if (slice_is_utf8(bytes)) {
        record_slice(line, name, bytes);
        return;
    }
    payload_add_base64(&base64, bytes);
    strbuf_addf(&long_name, "%s_base64", name);
    record_text(line, long_name.data, base64.data);
    strbuf_release(&base64);
    strbuf_release(&long_name);
}

/* An object that its history follows. */
static void write_letter(void *arg, const struct dead_letter_row *row)
{
    struct exporting *x = arg;
    struct strbuf *line = &x->line;

    record_open(line, NULL, '{');
    record_number(line, "v", 1);
    dlq_record_facts(line, row);
    record_number(line, "attempts", row->attempts);
    record_number(line, "deaths", row->times);
    record_time(line, "died_at", row->died_at);
    record_bool(line, "death_told", row->death_told);
    record_time(line, "taken_at", row->taken_at);
    record_bytes(line, "message_id", row->message_id);
    record_bytes(line, "content_type", row->content_type);
    strbuf_add_str(line, ",\"headers\":");
    strbuf_add_slice(line, row->headers);
    record_bytes(line, "body", row->body);
}

static void note_action(void *arg, const struct dead_letter_action *action)
{
    struct strbuf *line = arg;

    record_open(line, NULL, '{');
    record_time(line, "done_at", action->done_at);
    record_slice(line, "action", action->action);
    record_slice(line, "who", action->who);
    record_slice(line, "note", action->note);
    record_close(line, '}');
}

static bool write_history(struct exporting *x, int64_t id, struct error *err)
{
    const struct dead_letter_action_filter of = {.letters = &id, .letter_count = 1};
    int64_t after = 0;
    bool end = false;

    record_open(&x->line, "history", '[');
    while (!end) {
        if (!dead_letter_actions(x->db, &of, &after, PAGE, note_action, &x->line, &end, err))
            return false;
    }
    record_close(&x->line, ']');
    return true;
}

/* Where another body is in force: that, and whose it is. */
static bool write_new_body(struct exporting *x, int64_t id, struct error *err)
{
    struct dead_letter_body body = {0};
    bool ok = dead_letter_body_read(x->db, id, &body, err);

    if (ok && body.id) {
        record_bytes(&x->line, "new_body", (struct slice){body.bytes.data ? body.bytes.data : "", body.bytes.len});
        record_text(&x->line, "new_body_by", body.who.data);
    }
    dead_letter_body_release(&body);
    return ok;
}

static bool write_one(struct exporting *x, int64_t id, struct error *err)
{
    bool found;

    if (!dead_letter_store_get(x->db, id, write_letter, x, &found, err))
        return false;
    if (!found) {
        print_warning("there is no letter %" PRId64, id);
        x->ctl->code = EXIT_PARTIAL;
        return true;
    }
    if (!write_new_body(x, id, err) || !write_history(x, id, err))
        return false;
    record_close(&x->line, '}');
    record_print(&x->line);
    x->written++;
    return true;
}

/* Ids page by page, since no query may run inside another one. */
static bool write_all(struct exporting *x, struct error *err)
{
    struct dlq_walk walk = {.of = &x->chosen};
    bool ok = true;

    while (ok && !walk.end && !ferror(stdout)) {
        ok = dlq_walk_next(x->db, &walk, err);
        for (size_t i = 0; i < walk.count && ok && !ferror(stdout); i++)
            ok = write_one(x, walk.ids[i], err);
        print_progress(x->ctl, "%zu written", x->written);
    }
    dlq_walk_end(&walk);
    return ok;
}

bool ctl_dlq_export(struct ctl *ctl, struct error *err)
{
    struct exporting x = {.ctl = ctl};
    bool ok = dlq_select(ctl, true, &x.chosen, err) && (x.db = ctl_open_schema(ctl, err)) &&
              dlq_select_times(ctl, x.db, &x.chosen, err) && write_all(&x, err);

    print_progress_end();
    if (ok)
        print_note(ctl, "%zu letters are written", x.written);
    strbuf_release(&x.line);
    dlq_select_free(&x.chosen);
    db_close(&x.db);
    return ok;
}
