#include "headers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/check.h"
#include "wire.h"

#define NUMBER_TEXT_MAX 32

/* How a field of each kind lies on the wire, as RabbitMQ and librabbitmq write them. */
enum form {
    FORM_UNKNOWN,
    FORM_BOOL,
    FORM_SIGNED,
    FORM_UNSIGNED,
    FORM_FLOAT,
    FORM_DECIMAL,
    FORM_TEXT,
    FORM_NESTED,
    FORM_VOID
};

static const struct {
    unsigned char form, size;
} kinds[256] = {
    ['t'] = {FORM_BOOL, 1},     ['b'] = {FORM_SIGNED, 1},   ['B'] = {FORM_UNSIGNED, 1}, ['s'] = {FORM_SIGNED, 2},
    ['u'] = {FORM_UNSIGNED, 2}, ['I'] = {FORM_SIGNED, 4},   ['i'] = {FORM_UNSIGNED, 4}, ['l'] = {FORM_SIGNED, 8},
    ['L'] = {FORM_UNSIGNED, 8}, ['T'] = {FORM_UNSIGNED, 8}, ['f'] = {FORM_FLOAT, 4},    ['d'] = {FORM_FLOAT, 8},
    ['D'] = {FORM_DECIMAL, 5},  ['S'] = {FORM_TEXT, 4},     ['x'] = {FORM_TEXT, 4},     ['A'] = {FORM_NESTED, 4},
    ['F'] = {FORM_NESTED, 4},   ['V'] = {FORM_VOID, 0},
};

static int64_t sign_extend(uint64_t n, unsigned size)
{
    static const uint64_t signs[] = {[1] = 1U << 7, [2] = 1U << 15, [4] = 1U << 31, [8] = UINT64_C(1) << 63};

    return (int64_t)((n ^ signs[size]) - signs[size]);
}

static double real_of(uint64_t n, unsigned size)
{
    uint32_t low = (uint32_t)n;
    double d;
    float f;

    if (size == 4) {
        memcpy(&f, &low, sizeof f);
        return (double)f;
    }
    memcpy(&d, &n, sizeof d);
    return d;
}

static int print_decimal(char *text, uint64_t n)
{
    unsigned scale = (unsigned)(n >> 32) & 0xff;

    return snprintf(text, NUMBER_TEXT_MAX, "%" PRIu32 "e-%u", (uint32_t)n, scale);
}

static void number(struct broker_header *h, enum form form, unsigned size, uint64_t n, char *text)
{
    int len = 0;

    switch (form) {
    case FORM_BOOL:
        h->value = slice_of(n ? "true" : "false");
        return;
    case FORM_SIGNED:
        h->is_integer = true;
        h->integer = sign_extend(n, size);
        len = snprintf(text, NUMBER_TEXT_MAX, "%" PRId64, h->integer);
        break;
    case FORM_UNSIGNED:
        h->is_integer = n <= INT64_MAX;
        h->integer = h->is_integer ? (int64_t)n : 0;
        len = snprintf(text, NUMBER_TEXT_MAX, "%" PRIu64, n);
        break;
    case FORM_FLOAT:
        len = snprintf(text, NUMBER_TEXT_MAX, "%.17g", real_of(n, size));
        break;
    default:
        len = print_decimal(text, n);
        break;
    }
    h->value = (struct slice){text, (size_t)len};
}

/* One field; *shown tells whether it is one that is shown. */
static bool field(struct wire *w, struct broker_header *h, char *text, bool *shown)
{
    uint64_t kind, n = 0;
    enum form form;
    unsigned size;

    memset(h, 0, sizeof *h);
    if (!wire_string(w, 1, &h->name) || !wire_number(w, 1, &kind))
        return false;
    form = (enum form)kinds[kind].form;
    size = kinds[kind].size;
    *shown = form != FORM_NESTED;
    switch (form) {
    case FORM_UNKNOWN:
        return false;
    case FORM_VOID:
        h->value = slice_of("");
        return true;
    case FORM_TEXT:
    case FORM_NESTED:
        return wire_string(w, size, &h->value);
    default:
        if (!wire_number(w, size, &n))
            return false;
        number(h, form, size, n, text);
        return true;
    }
}

static size_t count_shown(struct slice table)
{
    struct wire w = wire_of(table);
    struct broker_header h;
    char text[NUMBER_TEXT_MAX];
    size_t n = 0;
    bool shown;

    while (n < HEADERS_MAX && field(&w, &h, text, &shown))
        n += shown;
    return n;
}

struct headers headers_read(struct slice table)
{
    struct headers out = {.list = NULL, .count = table.len ? count_shown(table) : 0};
    struct wire w;
    char *text;

    if (out.count == 0)
        return out;
    w = wire_of(table);
    out.list = check_malloc(out.count * (sizeof *out.list + NUMBER_TEXT_MAX));
    text = (char *)(out.list + out.count);
    for (size_t i = 0; i < out.count;) {
        bool shown = false;

        CHECK(field(&w, &out.list[i], text + i * NUMBER_TEXT_MAX, &shown));
        i += shown;
    }
    return out;
}

void headers_release(struct headers *headers)
{
    free(headers->list);
    headers->list = NULL;
    headers->count = 0;
}

bool headers_broker_owned(struct slice name)
{
    return name.len >= 2 && (name.ptr[0] == 'x' || name.ptr[0] == 'X') && name.ptr[1] == '-';
}
