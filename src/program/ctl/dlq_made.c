#include "dlq_made.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "orderd/clock.h"
#include "payload.h"
#include "record.h"

struct made {
    struct ctl *ctl;
    struct strbuf *line;
};

static void begin_line(const char *name)
{
    printf("  %-12s", name);
}

void dlq_made_record_bytes(struct strbuf *line, const char *name, struct slice bytes)
{
    struct strbuf base64 = STRBUF_INIT, long_name = STRBUF_INIT;
    bool text = slice_is_utf8(bytes);

    strbuf_addf(&long_name, "%s_base64", name);
    if (!text)
        payload_add_base64(&base64, bytes);
    record_slice(line, name, text ? bytes : (struct slice){NULL, 0});
    record_text(line, long_name.data, text ? NULL : base64.data ? base64.data : "");
    strbuf_release(&base64);
    strbuf_release(&long_name);
}

/* ---- messages ---- */

static void record_message(struct strbuf *line, const struct dead_letter_message *m)
{
    record_open(line, NULL, '{');
    record_slice(line, "key", m->key);
    record_slice(line, "state", m->message_state);
    record_slice(line, "order_no", m->order_no);
    record_bool(line, "new_order", m->new_order);
    record_slice(line, "order_status", m->order_status);
    record_slice(line, "who", m->who);
    record_time(line, "made_at", m->made_at);
    record_close(line, '}');
}

static void add_order(struct strbuf *text, const struct dead_letter_message *m)
{
    strbuf_add_str(text, m->new_order ? ", new order " : ", order ");
    strbuf_add_slice(text, m->order_no);
    strbuf_add_str(text, " is ");
    strbuf_add_slice(text, m->order_status.ptr ? m->order_status : slice_of("not there"));
}

/* A row of the local message table that is gone was sent, or never written. */
static void print_message(const struct dead_letter_message *m)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_add_slice(&text, m->key);
    strbuf_add_str(&text, " is ");
    strbuf_add_slice(&text, m->message_state.ptr ? m->message_state : slice_of("not in the local message table"));
    if (m->order_no.ptr)
        add_order(&text, m);
    begin_line("sent as");
    print_escaped(text.data, text.len, 0, ESCAPE_TEXT);
    strbuf_release(&text);
}

static void on_message(void *arg, const struct dead_letter_message *m)
{
    const struct made *made = arg;

    if (made->ctl->json)
        record_message(made->line, m);
    else
        print_message(m);
}

/* ---- the body ---- */

static void print_body(const struct dead_letter_body *body)
{
    struct slice bytes = {body->bytes.data ? body->bytes.data : "", body->bytes.len};
    struct strbuf json = STRBUF_INIT;
    char iso[32];

    clock_format_iso(iso, sizeof iso, body->made_at);
    begin_line("new body");
    printf("%zu bytes, %s by ", bytes.len, iso);
    print_escaped(body->who.data, body->who.len, 0, ESCAPE_TEXT);
    if (payload_indent(bytes, &json))
        print_escaped(json.data, json.len, 4, ESCAPE_JSON);
    else
        print_escaped(bytes.ptr, bytes.len, 4, ESCAPE_TEXT);
    strbuf_release(&json);
}

static void record_body(struct strbuf *line, const struct dead_letter_body *body)
{
    struct slice bytes = {body->bytes.data ? body->bytes.data : "", body->bytes.len};

    if (!body->id) {
        record_null(line, "new_body");
        return;
    }
    record_open(line, "new_body", '{');
    dlq_made_record_bytes(line, "body", bytes);
    record_slice(line, "who", (struct slice){body->who.data, body->who.len});
    record_time(line, "made_at", body->made_at);
    record_close(line, '}');
}

bool dlq_made_show(struct ctl *ctl, struct db *db, int64_t letter_id, struct strbuf *line, struct error *err)
{
    struct made made = {ctl, line};
    struct dead_letter_body body = {0};
    bool ok = dead_letter_body_read(db, letter_id, &body, err);

    if (ok && ctl->json)
        record_body(line, &body);
    else if (ok && body.id)
        print_body(&body);
    dead_letter_body_release(&body);
    if (ok && ctl->json)
        record_open(line, "messages", '[');
    ok = ok && dead_letter_messages(db, letter_id, on_message, &made, err);
    if (ok && ctl->json)
        record_close(line, ']');
    return ok;
}

/* ---- the other way ---- */

void dlq_made_origin(struct ctl *ctl, const struct dead_letter_row *row, struct strbuf *line)
{
    json_error_t where;
    json_t *headers = json_loadb(row->headers.ptr, row->headers.len, JSON_ALLOW_NUL, &where);
    int64_t of = json_integer_value(json_object_get(headers, "orderd-replay-of"));

    json_decref(headers);
    if (ctl->json && of > 0) {
        record_number(line, "replay_of", of);
    } else if (ctl->json) {
        record_null(line, "replay_of");
    } else if (of > 0) {
        begin_line("replay of");
        printf("letter %" PRId64 "\n", of);
    }
}

const char *dlq_made_relation(const struct dead_letter_of_order *letter)
{
    return letter->new_order ? "this order is the new one for it" : letter->sent ? "sent again" : "names this order";
}
