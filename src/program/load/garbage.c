#include "garbage.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

const char *garbage_name(enum garbage_kind kind)
{
    static const char *const names[] = {
#define X(kind, name) [GARBAGE_##kind] = name,
#include "orderd/tbl/load_garbage.h"
#undef X
    };

    CHECK(kind < GARBAGE_KINDS);
    return names[kind];
}

/* Appends `body` with its first `from` replaced by `to`; `from` must be there, or the body would be valid. */
static void replace(struct strbuf *out, const struct strbuf *body, const char *from, const char *to)
{
    const char *at = strstr(body->data, from);

    CHECK(at != NULL);
    strbuf_add(out, body->data, (size_t)(at - body->data));
    strbuf_add_str(out, to);
    strbuf_add_str(out, at + strlen(from));
}

static void nest(struct strbuf *out)
{
    strbuf_add_str(out, "{\"v\":1,\"order_no\":");
    for (int i = 0; i < 8000; i++)
        strbuf_add_char(out, '[');
    for (int i = 0; i < 8000; i++)
        strbuf_add_char(out, ']');
    strbuf_add_char(out, '}');
}

static void make(enum garbage_kind kind, uint64_t number, const struct strbuf *good, struct strbuf *out)
{
    switch (kind) {
    case GARBAGE_TEXT:
        strbuf_addf(out, "order %llu, please", (unsigned long long)number);
        break;
    case GARBAGE_EMPTY:
        break;
    case GARBAGE_TRUNCATED:
        strbuf_add(out, good->data, 1 + number % (good->len - 1));
        break;
    case GARBAGE_ARRAY:
        strbuf_addf(out, "[%s]", good->data);
        break;
    case GARBAGE_WRONG_TYPE:
        replace(out, good, "\"user_id\":", "\"user_id\":\"42\",\"was\":");
        break;
    case GARBAGE_FRACTION:
        replace(out, good, "\"amount\":", "\"amount\":99.5,\"was\":");
        break;
    case GARBAGE_MISSING:
        replace(out, good, "\"amount\"", "\"amounts\"");
        break;
    case GARBAGE_NEGATIVE:
        replace(out, good, "\"quantity\":", "\"quantity\":-");
        break;
    case GARBAGE_HUGE:
        replace(out, good, "\"user_id\":", "\"user_id\":9223372036854775808,\"was\":");
        break;
    case GARBAGE_BAD_UTF8:
        replace(out, good, "{", "{\"note\":\"\xc3\x28\",");
        break;
    case GARBAGE_TWICE:
        replace(out, good, "\"quantity\":", "\"quantity\":1,\"quantity\":");
        break;
    case GARBAGE_TRAILING:
        strbuf_addf(out, "%s{}", good->data);
        break;
    case GARBAGE_VERSION:
        replace(out, good, "\"v\":1", "\"v\":2");
        break;
    case GARBAGE_BAD_ORDER_NO:
        replace(out, good, "\"order_no\":\"", "\"order_no\":\"no'--");
        break;
    case GARBAGE_NESTED:
        nest(out);
        break;
    case GARBAGE_KINDS:
        CHECK(false);
    }
}

void garbage_malformed(uint64_t number, const struct order *order, struct strbuf *out)
{
    struct strbuf good = STRBUF_INIT;

    order_encode(order, &good);
    make((enum garbage_kind)(number % GARBAGE_KINDS), number / GARBAGE_KINDS, &good, out);
    strbuf_release(&good);
}

void garbage_oversized(uint64_t number, const struct order *order, struct strbuf *out)
{
    size_t size = ORDER_BODY_MAX + 1 + (size_t)(number % 8192);
    size_t begin = out->len;

    order_encode(order, out);
    strbuf_cut(out, out->len - 1);
    strbuf_add_str(out, ",\"note\":\"");
    while (out->len - begin < size - 2)
        strbuf_add_char(out, 'x');
    strbuf_add_str(out, "\"}");
}
