#include "record.h"

#include <stdio.h>

#include "orderd/clock.h"

static void begin(struct strbuf *line, const char *name)
{
    char last = line->len ? line->data[line->len - 1] : '{';

    if (last != '{' && last != '[')
        strbuf_add_char(line, ',');
    if (!name)
        return;
    strbuf_add_json(line, slice_of(name));
    strbuf_add_char(line, ':');
}

void record_open(struct strbuf *line, const char *name, char bracket)
{
    begin(line, name);
    strbuf_add_char(line, bracket);
}

void record_close(struct strbuf *line, char bracket)
{
    strbuf_add_char(line, bracket);
}

void record_text(struct strbuf *line, const char *name, const char *text)
{
    record_slice(line, name, slice_of(text));
}

void record_slice(struct strbuf *line, const char *name, struct slice text)
{
    begin(line, name);
    if (text.ptr)
        strbuf_add_json(line, text);
    else
        strbuf_add_str(line, "null");
}

void record_number(struct strbuf *line, const char *name, int64_t number)
{
    begin(line, name);
    strbuf_add_i64(line, number);
}

void record_bool(struct strbuf *line, const char *name, bool value)
{
    begin(line, name);
    strbuf_add_str(line, value ? "true" : "false");
}

void record_null(struct strbuf *line, const char *name)
{
    record_text(line, name, NULL);
}

void record_time(struct strbuf *line, const char *name, int64_t wall_ms)
{
    char text[32];

    if (wall_ms == 0) {
        record_null(line, name);
        return;
    }
    clock_format_iso(text, sizeof text, wall_ms);
    record_text(line, name, text);
}

void record_print(struct strbuf *line)
{
    strbuf_add_char(line, '\n');
    fwrite(line->data, 1, line->len, stdout);
    strbuf_reset(line);
}
