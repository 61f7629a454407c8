#include "orderd/stock_effect.h"

#include <jansson.h>

#include "orderd/check.h"

/* ---- writing ---- */

static void add_number(struct strbuf *out, const char *member, int64_t n)
{
    strbuf_add_str(out, member);
    strbuf_add_i64(out, n);
}

static void add_flag(struct strbuf *out, const char *member, bool flag)
{
    strbuf_add_str(out, member);
    strbuf_add_str(out, flag ? "true" : "false");
}

/* Order numbers need no escaping: their alphabet is ours. */
static void begin_entry(struct strbuf *out, bool first, struct slice order_no, int64_t activity, int shard)
{
    strbuf_add_str(out, first ? "{\"order_no\":\"" : ",{\"order_no\":\"");
    strbuf_add_slice(out, order_no);
    add_number(out, "\",\"activity_id\":", activity);
    add_number(out, ",\"shard\":", shard);
}

void stock_effect_encode(const struct stock_giveback *list, size_t count, struct strbuf *out)
{
    CHECK(count > 0 && count <= ORDER_LIST_MAX);
    strbuf_add_str(out, "{\"v\":1,\"orders\":[");
    for (size_t i = 0; i < count; i++) {
        begin_entry(out, i == 0, list[i].order_no, list[i].activity, list[i].shard);
        add_number(out, ",\"epoch\":", list[i].epoch);
        add_number(out, ",\"units_back\":", list[i].units_back);
        add_number(out, ",\"units_forfeited\":", list[i].units_forfeited);
        add_flag(out, ",\"free_mark\":", list[i].free_mark);
        add_flag(out, ",\"reservations\":", list[i].reservations);
        strbuf_add_char(out, '}');
    }
    strbuf_add_str(out, "]}");
}

void stock_effect_encode_paid(const struct stock_paid *list, size_t count, struct strbuf *out)
{
    CHECK(count > 0 && count <= ORDER_LIST_MAX);
    strbuf_add_str(out, "{\"v\":1,\"orders\":[");
    for (size_t i = 0; i < count; i++) {
        begin_entry(out, i == 0, list[i].order_no, list[i].activity, list[i].shard);
        strbuf_add_char(out, '}');
    }
    strbuf_add_str(out, "]}");
}

/* ---- reading ---- */

static bool number(const json_t *entry, const char *name, int64_t *out)
{
    const json_t *value = json_object_get(entry, name);

    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0;
}

static bool flag(const json_t *entry, const char *name, bool *out)
{
    const json_t *value = json_object_get(entry, name);

    *out = json_is_true(value);
    return json_is_boolean(value);
}

static bool take_order_no(const json_t *entry, struct arena *arena, struct slice *out)
{
    const json_t *value = json_object_get(entry, "order_no");
    struct slice text = {json_string_value(value), json_string_length(value)};

    if (!json_is_string(value) || !order_no_valid(text))
        return false;
    *out = (struct slice){arena_strndup(arena, text.ptr, text.len), text.len};
    return true;
}

static bool take_shard(const json_t *entry, int *out)
{
    int64_t shard;

    if (!number(entry, "shard", &shard) || shard >= STOCK_SHARDS_MAX)
        return false;
    *out = (int)shard;
    return true;
}

static bool take_giveback(const json_t *entry, struct arena *arena, struct stock_giveback *g)
{
    *g = (struct stock_giveback){0};
    return take_order_no(entry, arena, &g->order_no) && number(entry, "activity_id", &g->activity) &&
           take_shard(entry, &g->shard) && number(entry, "epoch", &g->epoch) &&
           number(entry, "units_back", &g->units_back) && number(entry, "units_forfeited", &g->units_forfeited) &&
           flag(entry, "free_mark", &g->free_mark) && flag(entry, "reservations", &g->reservations);
}

static bool take_paid(const json_t *entry, struct arena *arena, struct stock_paid *p)
{
    *p = (struct stock_paid){0};
    return take_order_no(entry, arena, &p->order_no) && number(entry, "activity_id", &p->activity) &&
           take_shard(entry, &p->shard);
}

/* What a payload holds: an array of entries, or the one entry that the payload itself is (index 0 of nothing). */
struct reading {
    json_t *root;
    const json_t *orders; /* NULL: root is the entry */
    size_t count;
};

static bool begin_reading(struct slice payload, struct reading *r)
{
    json_error_t problem;

    *r = (struct reading){.count = 1};
    r->root = json_loadb(payload.ptr ? payload.ptr : "", payload.len, JSON_REJECT_DUPLICATES, &problem);
    if (!json_is_object(r->root))
        return false;
    r->orders = json_object_get(r->root, "orders");
    if (!r->orders)
        return true;
    r->count = json_array_size(r->orders);
    return json_is_array(r->orders) && json_is_integer(json_object_get(r->root, "v")) &&
           json_integer_value(json_object_get(r->root, "v")) == 1 && r->count > 0 && r->count <= ORDER_LIST_MAX;
}

static const json_t *entry_of(const struct reading *r, size_t i)
{
    return r->orders ? json_array_get(r->orders, i) : r->root;
}

static bool end_reading(struct reading *r, bool ok, const char *what, size_t *count, struct error *err)
{
    json_decref(r->root);
    *count = ok ? *count : 0;
    return ok || error_set(err, ERROR_INPUT_INVALID, "the payload is not a %s of ours", what);
}

bool stock_effect_decode(struct slice payload, struct arena *arena, struct stock_giveback **list, size_t *count,
                         struct error *err)
{
    struct reading r;
    bool ok = begin_reading(payload, &r);

    *count = ok ? r.count : 0;
    *list = arena_alloc(arena, *count * sizeof **list);
    for (size_t i = 0; ok && i < *count; i++)
        ok = take_giveback(entry_of(&r, i), arena, &(*list)[i]);
    return end_reading(&r, ok, "stock.return", count, err);
}

bool stock_effect_decode_paid(struct slice payload, struct arena *arena, struct stock_paid **list, size_t *count,
                              struct error *err)
{
    struct reading r;
    bool ok = begin_reading(payload, &r);

    *count = ok ? r.count : 0;
    *list = arena_alloc(arena, *count * sizeof **list);
    for (size_t i = 0; ok && i < *count; i++)
        ok = take_paid(entry_of(&r, i), arena, &(*list)[i]);
    return end_reading(&r, ok, "stock.settle", count, err);
}
