/* orderctl outbox show */
#include <inttypes.h>
#include <stdio.h>

#include "orderd/clock.h"
#include "outbox.h"
#include "payload.h"
#include "record.h"

/* ---- JSON ---- */

static void record_payload(struct strbuf *line, struct slice payload)
{
    struct strbuf base64 = STRBUF_INIT;
    bool text = slice_is_utf8(payload);

    if (text) {
        record_slice(line, "payload", payload);
        record_null(line, "payload_base64");
        return;
    }
    payload_add_base64(&base64, payload);
    record_null(line, "payload");
    record_text(line, "payload_base64", base64.data);
    strbuf_release(&base64);
}

static void print_record(const struct local_message_row *row)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    outbox_record(&line, row);
    record_slice(&line, "headers", row->headers);
    record_payload(&line, row->payload);
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
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

static void print_time(const char *name, const struct local_message_row *row, int64_t moment)
{
    int64_t until = outbox_until(row, moment);
    char iso[32], span[SPAN_TEXT];

    clock_format_iso(iso, sizeof iso, moment);
    begin_line(name);
    if (until > 0)
        printf("%s, in %s\n", iso, span_text(span, until));
    else
        printf("%s, %s ago\n", iso, span_text(span, -until));
}

static void print_times(const struct local_message_row *row)
{
    static const char *const names[LOCAL_MESSAGE_STATE_COUNT] = {
        [LOCAL_MESSAGE_STATE_PENDING] = "due",
        [LOCAL_MESSAGE_STATE_SENT] = "kept since",
        [LOCAL_MESSAGE_STATE_QUARANTINED] = "quarantined",
    };

    print_time("created", row, row->created_at);
    if (row->state == LOCAL_MESSAGE_STATE_SENT && row->sent_at)
        print_time("sent", row, row->sent_at);
    else
        print_time(names[row->state], row, row->due_at);
    if (row->lease_owner.ptr)
        print_value(row->leased ? "leased by" : "last lease", row->lease_owner);
    if (row->lease_owner.ptr && row->lease_until)
        print_time("until", row, row->lease_until);
}

static void print_body(const char *name, struct slice bytes)
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

static void print_text(const struct ctl *ctl, const struct local_message_row *row)
{
    printf("message %" PRId64 "\n", row->id);
    print_value("key", row->key);
    print_value("topic", row->topic);
    begin_line("state");
    print_word(ctl, local_message_state_name(row->state), 0, outbox_tint(row->state));
    putchar('\n');
    begin_line("tries");
    printf("%" PRId64 "\n", row->attempts);
    print_times(row);
    if (row->last_error.len)
        print_value("last error", row->last_error);
    if (row->headers.ptr)
        print_body("headers", row->headers);
    print_body("payload", row->payload);
}

static void show(void *arg, const struct local_message_row *row)
{
    const struct ctl *ctl = arg;

    if (ctl->json)
        print_record(row);
    else
        print_text(ctl, row);
}

static bool show_all(struct ctl *ctl, struct db *db, const struct outbox_names *names, struct error *err)
{
    char text[OUTBOX_NAME_TEXT];
    size_t shown = 0;
    bool found;

    for (size_t i = 0; i < names->count; i++) {
        if (!local_message_get(db, &names->list[i], show, ctl, &found, err))
            return false;
        shown += found;
        if (!found && names->count > 1)
            print_warning("there is no %s", outbox_name_text(text, &names->list[i]));
    }
    if (names->count == 0)
        print_note(ctl, "standard input named no message");
    if (shown == 0 && names->count > 0) {
        ctl_advise(ctl, "see `orderctl outbox list`");
        return error_set(err, ERROR_REFUSED, "there is no %s",
                         names->count == 1 ? outbox_name_text(text, &names->list[0]) : "message of these names");
    }
    if (shown < names->count)
        ctl->code = EXIT_PARTIAL;
    return true;
}

bool ctl_outbox_show(struct ctl *ctl, struct error *err)
{
    struct outbox_names names;
    bool ok = outbox_names_read(ctl, &names, err);
    struct db *db = ok ? ctl_open_schema(ctl, err) : NULL;

    ok = db && show_all(ctl, db, &names, err);
    db_close(&db);
    outbox_names_free(&names);
    return ok;
}
