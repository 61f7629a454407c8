/* A line of `orderctl dlq import`, and a dead letter's bytes on their way to a terminal, a log and a table. */
#include <locale.h>

#include "../../src/program/ctl/dlq_import.c"
#include "../../src/service/log/log_line.h"
#include "fuzz.h"

static bool is_json(struct slice text, size_t flags)
{
    json_t *root = json_loadb(text.ptr, text.len, flags, NULL);
    bool good = root != NULL;

    json_decref(root);
    return good;
}

static void import_line(struct slice line)
{
    json_error_t where;
    struct reading r = {.root = json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, &where)};

    if (json_is_object(r.root)) {
        read_letter(&r);
        CHECK(r.wrong ||
              (r.row.message_id.len <= TEXT_MAX && is_json(r.row.headers, JSON_ALLOW_NUL) && r.row.times >= 1));
        CHECK(r.wrong || r.row.order_no.len == 0 || order_no_valid(r.row.order_no));
    }
    end_reading(&r);
}

static void base64(struct slice bytes)
{
    struct strbuf text = STRBUF_INIT, back = STRBUF_INIT;

    payload_add_base64(&text, bytes);
    CHECK(payload_take_base64(&back, (struct slice){text.data ? text.data : "", text.len}));
    CHECK(back.len == bytes.len && memcmp(back.data ? back.data : "", bytes.ptr, bytes.len) == 0);
    strbuf_reset(&back);
    if (payload_take_base64(&back, bytes)) { /* in its one form */
        strbuf_reset(&text);
        payload_add_base64(&text, (struct slice){back.data, back.len});
        CHECK(slice_equal((struct slice){text.data, text.len}, bytes));
    }
    strbuf_release(&text);
    strbuf_release(&back);
}

static void indent(struct slice bytes)
{
    struct strbuf out = STRBUF_INIT;

    if (payload_indent(bytes, &out))
        CHECK(out.len > 0 && is_json((struct slice){out.data, out.len}, 0));
    else
        CHECK(out.len == 0);
    strbuf_release(&out);
}

/* A log line is one line, and in JSON one object, whatever is told in it. */
static void log_it(struct slice bytes)
{
    const struct log_field fields[] = {LOG_SLICE("detail", bytes), {0}};
    const struct log_line line = {.level = "info",
                                  .event = "e",
                                  .program = "orderd",
                                  .instance = "",
                                  .thread = "t",
                                  .sentence = "s",
                                  .fields = fields};
    struct strbuf out = STRBUF_INIT;

    log_line_json(&line, &out);
    CHECK(strlen(out.data) == out.len && strchr(out.data, '\n') == out.data + out.len - 1);
    CHECK(is_json((struct slice){out.data, out.len - 1}, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL));
    strbuf_reset(&out);
    log_line_logfmt(&line, &out);
    CHECK(strlen(out.data) == out.len && strchr(out.data, '\n') == out.data + out.len - 1);
    CHECK(strchr(out.data, '\x1b') == NULL);
    strbuf_release(&out);
}

static void as_text(struct slice bytes)
{
    struct strbuf out = STRBUF_INIT;

    strbuf_add_utf8(&out, bytes);
    CHECK(slice_is_utf8((struct slice){out.data, out.len}));
    CHECK(slice_is_utf8(bytes) == slice_equal(bytes, (struct slice){out.data, out.len}));
    strbuf_release(&out);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    CHECK(setlocale(LC_CTYPE, "C.UTF-8") != NULL);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = size ? fuzz_slice(data, size) : slice_of("");

    import_line(bytes);
    base64(bytes);
    indent(bytes);
    log_it(bytes);
    as_text(bytes);
    return 0;
}
