/* What a dead letter says of itself: foreign bytes, of which nothing has to be there. */
#include "dead_letter_row.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "orderd/clock.h"
#include "orderd/dead_letter.h"
#include "orderd/order.h"

/* A body beyond this is not of ours (DESIGN section 2: 16 KiB). */
#define BODY_MAX ((size_t)64 * 1024)

/* "2027-11-11T10:00:00.123Z", exactly as we write it; else 0. */
static int64_t read_time(struct slice text)
{
    char copy[32], back[32];
    struct tm tm = {0};
    int ms = 0;
    int64_t at;

    if (text.len != 24)
        return 0;
    snprintf(copy, sizeof copy, "%.*s", (int)text.len, text.ptr);
    if (sscanf(copy, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
               &tm.tm_sec, &ms) != 7)
        return 0;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    at = (int64_t)timegm(&tm) * 1000 + ms;
    if (at < ORDER_RESERVED_AT_MIN || at > ORDER_RESERVED_AT_MAX)
        return 0;
    clock_format_iso(back, sizeof back, at);
    return strcmp(back, copy) == 0 ? at : 0;
}

static struct slice header(const struct broker_delivery *d, const char *name)
{
    struct broker_header h;

    return broker_delivery_find(d, name, &h) ? h.value : (struct slice){"", 0};
}

/* Our own word, else that of the broker, which moved it. */
static struct slice origin(const struct broker_delivery *d)
{
    static const char *const names[] = {"orderd-origin", "x-last-death-queue", "x-first-death-queue"};
    struct slice name = {"", 0};

    for (size_t i = 0; i < sizeof names / sizeof *names && name.len == 0; i++)
        name = header(d, names[i]);
    return name;
}

static void read_body(struct slice body, struct dead_letter_facts *out)
{
    json_error_t where;
    json_t *root = body.len <= BODY_MAX ? json_loadb(body.ptr, body.len, 0, &where) : NULL;
    const json_t *activity = json_object_get(root, "activity_id"), *order_no = json_object_get(root, "order_no");
    struct slice no = {json_string_value(order_no), json_string_length(order_no)};

    if (json_is_integer(activity) && json_integer_value(activity) > 0)
        out->activity_id = json_integer_value(activity);
    if (json_is_string(order_no) && no.len < sizeof out->order_no && order_no_valid(no))
        snprintf(out->order_no, sizeof out->order_no, "%.*s", (int)no.len, no.ptr);
    json_decref(root);
}

void dead_letter_facts_read(const struct broker_delivery *d, struct dead_letter_facts *out)
{
    enum reason reason = dead_letter_reason(d);
    struct slice ours = header(d, "orderd-reason");
    bool told = reason != REASON_NONE && slice_is(ours, reason_name(reason));

    *out = (struct dead_letter_facts){.reason = reason ? reason_name(reason) : DEAD_LETTER_REASON_UNKNOWN,
                                      .queue = origin(d),
                                      .attempts = dead_letter_attempt(d)};
    /* Where the broker gave up by itself, our headers are of an earlier failure. */
    out->detail = told ? header(d, "orderd-detail") : slice_of(reason ? reason_sentence(reason) : "");
    out->died_at = told ? read_time(header(d, "orderd-failed-at")) : 0;
    read_body(d->body, out);
}

void dead_letter_add_headers(struct strbuf *out, const struct broker_delivery *d)
{
    struct broker_header h;

    strbuf_add_char(out, '{');
    for (size_t i = 0; broker_delivery_header(d, i, &h); i++) {
        if (h.name.len > 0 && memchr(h.name.ptr, '\0', h.name.len))
            continue; /* no reader of JSON takes it */
        if (out->data[out->len - 1] != '{')
            strbuf_add_char(out, ',');
        strbuf_add_json(out, h.name);
        strbuf_add_char(out, ':');
        if (h.is_integer)
            strbuf_add_i64(out, h.integer);
        else
            strbuf_add_json(out, h.value);
    }
    strbuf_add_char(out, '}');
}
