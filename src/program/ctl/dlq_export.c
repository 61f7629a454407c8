/* orderctl dlq export */
#include <inttypes.h>
#include <stdio.h>

#include "dlq.h"
#include "payload.h"
#include "record.h"

#define PAGE 500

struct exporting {
    struct ctl *ctl;
    struct db *db;
    struct dlq_ids ids;
    struct strbuf line;
    size_t written;
};

/* "name": as text, or "name_base64". */
static void record_bytes(struct strbuf *line, const char *name, struct slice bytes)
{
    struct strbuf base64 = STRBUF_INIT, long_name = STRBUF_INIT;

    if (payload_is_utf8(bytes)) {
        record_slice(line, name, bytes);
        return;
    }
    payload_add_base64(&base64, bytes);
    strbuf_addf(&long_name, "%s_base64", name);
    record_text(line, long_name.data, base64.data);
    strbuf_release(&base64);
    strbuf_release(&long_name);
}

static void write_letter(void *arg, const struct dead_letter_row *row)
{
    struct exporting *x = arg;
    struct strbuf *line = &x->line;

    record_open(line, NULL, '{');
    record_number(line, "v", 1);
    record_number(line, "id", row->id);
    record_text(line, "state", dead_letter_state_name(row->state));
    record_slice(line, "reason", row->reason);
    record_slice(line, "detail", row->detail);
    record_slice(line, "queue", row->queue);
    dlq_record_activity(line, row->activity_id);
    record_slice(line, "order_no", row->order_no);
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
    record_close(line, '}');
    record_print(line);
    x->written++;
}

static bool write_one(struct exporting *x, int64_t id, struct error *err)
{
    bool found;

    if (!dead_letter_store_get(x->db, id, write_letter, x, &found, err))
        return false;
    if (!found) {
        print_warning("there is no letter %" PRId64, id);
        x->ctl->code = EXIT_PARTIAL;
    }
    return true;
}

static void note_id(void *arg, const struct dead_letter_row *row)
{
    dlq_ids_add(arg, row->id);
}

/* Ids page by page, since no query may run inside another one. */
static bool write_all(struct exporting *x, struct error *err)
{
    static const struct dead_letter_filter any;
    int64_t after = 0;
    bool end = false;

    while (!end && !ferror(stdout)) {
        x->ids.count = 0;
        if (!dead_letter_store_page(x->db, &any, &after, PAGE, note_id, &x->ids, &end, err))
            return false;
        for (size_t i = 0; i < x->ids.count && !ferror(stdout); i++) {
            if (!write_one(x, x->ids.list[i], err))
                return false;
        }
        print_progress(x->ctl, "%zu written", x->written);
    }
    return true;
}

static bool write_named(struct exporting *x, struct error *err)
{
    for (size_t i = 0; i < x->ids.count && !ferror(stdout); i++) {
        if (!write_one(x, x->ids.list[i], err))
            return false;
    }
    return true;
}

bool ctl_dlq_export(struct ctl *ctl, struct error *err)
{
    bool all = ctl->values[CTL_OPTION_dlq_export_all].set, ok;
    struct exporting x = {.ctl = ctl};

    if (all == (ctl->operand_count > 0))
        return ctl_misuse(ctl, err, all ? "name letters or give --all, not both" : "LETTER or --all is missing");
    ok = dlq_ids_read(ctl, &x.ids, err) && (x.db = ctl_open_schema(ctl, err)) &&
         (all ? write_all(&x, err) : write_named(&x, err));
    print_progress_end();
    if (ok)
        print_note(ctl, "%zu letters are written", x.written);
    strbuf_release(&x.line);
    dlq_ids_free(&x.ids);
    db_close(&x.db);
    return ok;
}
