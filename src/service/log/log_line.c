#include "log_line.h"

#include "orderd/clock.h"

/* How a member looks; the order of members is the same in both. */
struct format {
    void (*text)(struct strbuf *out, const char *name, struct slice value);
    void (*number)(struct strbuf *out, const char *name, int64_t value);
};

static struct slice cut(struct slice s)
{
    return s.len > LOG_TEXT_MAX ? (struct slice){s.ptr, LOG_TEXT_MAX} : s;
}

static void logfmt_name(struct strbuf *out, const char *name)
{
    if (out->len && out->data[out->len - 1] != '>') /* after the journal's <priority> */
        strbuf_add_char(out, ' ');
    strbuf_add_str(out, name);
    strbuf_add_char(out, '=');
}

static void logfmt_text(struct strbuf *out, const char *name, struct slice value)
{
    logfmt_name(out, name);
    strbuf_add_logfmt(out, cut(value));
}

static void logfmt_number(struct strbuf *out, const char *name, int64_t value)
{
    logfmt_name(out, name);
    strbuf_add_i64(out, value);
}

static void json_name(struct strbuf *out, const char *name)
{
    if (out->data[out->len - 1] != '{')
        strbuf_add_char(out, ',');
    strbuf_add_json(out, slice_of(name));
    strbuf_add_char(out, ':');
}

static void json_text(struct strbuf *out, const char *name, struct slice value)
{
    json_name(out, name);
    strbuf_add_json(out, cut(value));
}

static void json_number(struct strbuf *out, const char *name, int64_t value)
{
    json_name(out, name);
    strbuf_add_i64(out, value);
}

/* A text that says nothing is left out. */
static void add_field(const struct format *f, const struct log_field *field, struct strbuf *out)
{
    switch (field->kind) {
    case LOG_FIELD_STR:
        if (field->text.len > 0)
            f->text(out, field->name, field->text);
        break;
    case LOG_FIELD_INT:
        f->number(out, field->name, field->number);
        break;
    case LOG_FIELD_ERR:
        f->text(out, "reason", slice_of(error_code_name(field->err->code)));
        f->text(out, "error", slice_of(field->err->text));
        break;
    }
}

static void add_members(const struct format *f, const struct log_line *line, struct strbuf *out)
{
    char ts[32];

    clock_format_iso(ts, sizeof ts, line->wall_ms);
    f->text(out, "ts", slice_of(ts));
    f->text(out, "level", slice_of(line->level));
    f->text(out, "event", slice_of(line->event));
    f->text(out, "program", slice_of(line->program));
    if (line->instance[0])
        f->text(out, "instance", slice_of(line->instance));
    f->text(out, "thread", slice_of(line->thread));
    for (const struct log_field *field = line->fields; field && field->name; field++)
        add_field(f, field, out);
    if (line->suppressed)
        f->number(out, "suppressed", (int64_t)line->suppressed);
    f->text(out, "msg", slice_of(line->sentence));
}

void log_line_logfmt(const struct log_line *line, struct strbuf *out)
{
    static const struct format logfmt = {logfmt_text, logfmt_number};

    add_members(&logfmt, line, out);
    strbuf_add_char(out, '\n');
}

void log_line_json(const struct log_line *line, struct strbuf *out)
{
    static const struct format json = {json_text, json_number};

    strbuf_add_char(out, '{');
    add_members(&json, line, out);
    strbuf_add_str(out, "}\n");
}
