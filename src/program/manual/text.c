/* scdoc text. */
#include "orderd/manual.h"

#include <string.h>

#include "orderd/check.h"

void manual_text(struct strbuf *out, const char *text)
{
    bool begins = out->len == 0 || strchr("\n\t", out->data[out->len - 1]) != NULL;

    for (; *text; text++) {
        if (strchr("*_\\+`", *text) || (begins && strchr("#-.|[]:", *text)))
            strbuf_add_char(out, '\\');
        strbuf_add_char(out, *text);
        begins = false;
    }
}

void manual_bold(struct strbuf *out, const char *text)
{
    strbuf_add_char(out, '*');
    manual_text(out, text);
    strbuf_add_char(out, '*');
}

void manual_entry(struct strbuf *out, const char *names, const char *value)
{
    strbuf_add_char(out, '\n');
    manual_bold(out, names);
    if (value[0]) {
        strbuf_add_str(out, " _");
        manual_text(out, value);
        strbuf_add_char(out, '_');
    }
    strbuf_add_char(out, '\n');
}

void manual_below(struct strbuf *out, const char *text)
{
    strbuf_add_char(out, '\t');
    manual_text(out, text);
    strbuf_add_char(out, '\n');
}

/* ---- prose: one block at a time, each line without its newline ---- */

static struct slice next_line(const char **text)
{
    size_t len = strcspn(*text, "\n");
    struct slice line = {*text, len};

    *text += len + ((*text)[len] == '\n');
    return line;
}

static void add_escaped(struct strbuf *out, struct slice s)
{
    struct strbuf copy = STRBUF_INIT;

    strbuf_add_slice(&copy, s);
    manual_text(out, copy.data);
    strbuf_release(&copy);
}

/* As it is: only a backslash means something to scdoc there. */
static void add_examples(struct strbuf *out, const char *text, const char *end)
{
    strbuf_add_str(out, "\n```\n");
    while (text < end) {
        struct slice line = next_line(&text);
        size_t indent = line.len >= 2 && memcmp(line.ptr, "  ", 2) == 0 ? 2 : 0;

        for (size_t i = indent; i < line.len; i++) {
            if (line.ptr[i] == '\\')
                strbuf_add_char(out, '\\');
            strbuf_add_char(out, line.ptr[i]);
        }
        strbuf_add_char(out, '\n');
    }
    strbuf_add_str(out, "```\n");
}

/* "word  meaning": where the gap begins; 0 where the line is none. */
static size_t gap(struct slice line)
{
    const char *at = line.len ? memmem(line.ptr, line.len, "  ", 2) : NULL;

    return at ? (size_t)(at - line.ptr) : 0;
}

static void add_list(struct strbuf *out, const char *text, const char *end)
{
    while (text < end) {
        struct slice line = next_line(&text);
        size_t word = gap(line), rest = word;

        while (rest < line.len && line.ptr[rest] == ' ')
            rest++;
        if (word) {
            strbuf_add_str(out, "\n*");
            add_escaped(out, (struct slice){line.ptr, word});
            strbuf_add_str(out, "*\n");
        } else {
            while (rest < line.len && line.ptr[rest] == ' ')
                rest++;
        }
        strbuf_add_char(out, '\t');
        add_escaped(out, (struct slice){line.ptr + rest, line.len - rest});
        strbuf_add_char(out, '\n');
    }
}

static void add_filled(struct strbuf *out, const char *text, const char *end)
{
    strbuf_add_char(out, '\n');
    while (text < end) {
        add_escaped(out, next_line(&text));
        strbuf_add_char(out, '\n');
    }
}

static bool is_list(const char *text, const char *end)
{
    while (text < end) {
        if (gap(next_line(&text)))
            return true;
    }
    return false;
}

static void add_block(struct strbuf *out, const char *text, const char *end)
{
    const char *rest = text;
    struct slice first = next_line(&rest);

    if (slice_is(first, "Example:") || slice_is(first, "Examples:")) {
        add_filled(out, text, rest);
        add_examples(out, rest, end);
    } else if (is_list(text, end)) {
        add_list(out, text, end);
    } else {
        add_filled(out, text, end);
    }
}

void manual_prose(struct strbuf *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n"), *after = end ? end + 2 : text + strlen(text);

        add_block(out, text, end ? end + 1 : after);
        text = after;
    }
}
