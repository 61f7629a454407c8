#include "orderd/stock_effect.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "orderd/order.h"

void stock_effect_encode(const struct stock_giveback *g, struct strbuf *out)
{
    strbuf_add_str(out, "{\"order_no\":");
    strbuf_add_json(out, g->order_no);
    strbuf_addf(out,
                ",\"activity_id\":%" PRId64 ",\"shard\":%d,\"epoch\":%" PRId64 ",\"units_back\":%" PRId64
                ",\"units_forfeited\":%" PRId64 ",\"free_mark\":%s,\"reservations\":%s}",
                g->activity, g->shard, g->epoch, g->units_back, g->units_forfeited, g->free_mark ? "true" : "false",
                g->reservations ? "true" : "false");
}

static bool number(const json_t *root, const char *name, int64_t *out)
{
    const json_t *value = json_object_get(root, name);

    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0;
}

static bool flag(const json_t *root, const char *name, bool *out)
{
    const json_t *value = json_object_get(root, name);

    *out = json_is_true(value);
    return json_is_boolean(value);
}

static bool order_no(const json_t *root, struct stock_effect *out)
{
    const json_t *value = json_object_get(root, "order_no");
    struct slice text = {json_string_value(value), json_string_length(value)};

    if (!json_is_string(value) || !order_no_valid(text))
        return false;
    memcpy(out->order_no, text.ptr, text.len);
    out->order_no[text.len] = '\0';
    out->giveback.order_no = (struct slice){out->order_no, text.len};
    return true;
}

bool stock_effect_decode(struct slice payload, struct stock_effect *out, struct error *err)
{
    struct stock_giveback *g = &out->giveback;
    json_error_t problem;
    json_t *root = json_loadb(payload.ptr ? payload.ptr : "", payload.len, JSON_REJECT_DUPLICATES, &problem);
    int64_t shard = 0;
    bool ok;

    *g = (struct stock_giveback){0};
    ok = root && order_no(root, out) && number(root, "activity_id", &g->activity) && number(root, "shard", &shard) &&
         number(root, "epoch", &g->epoch) && number(root, "units_back", &g->units_back) &&
         number(root, "units_forfeited", &g->units_forfeited) && flag(root, "free_mark", &g->free_mark) &&
         flag(root, "reservations", &g->reservations) && shard < STOCK_SHARDS_MAX;
    g->shard = (int)shard;
    json_decref(root);
    return ok || error_set(err, ERROR_INPUT_INVALID, "the payload is not a stock.return of ours");
}
