#include "orderd/order_event.h"

#include <stdio.h>

#include "orderd/check.h"

static const char *const names[] = {
#define X(event, name, prose) [ORDER_EVENT_##event] = name,
#include "orderd/tbl/order_event.h"
#undef X
};

const char *order_event_name(enum order_event event)
{
    CHECK(event < ORDER_EVENT_COUNT);
    return names[event];
}

static void add_number(struct strbuf *out, const char *member, int64_t n)
{
    strbuf_add_str(out, member);
    strbuf_add_i64(out, n);
}

/* Order numbers and reasons need no escaping: their alphabets are ours. */
static void add_entry(struct strbuf *out, const struct order_event_entry *entry)
{
    const struct order *o = entry->order;

    strbuf_add_str(out, "{\"order_no\":\"");
    strbuf_add_str(out, o->order_no);
    add_number(out, "\",\"activity_id\":", o->activity_id);
    add_number(out, ",\"user_id\":", o->user_id);
    add_number(out, ",\"sku_id\":", o->sku_id);
    add_number(out, ",\"quantity\":", o->quantity);
    add_number(out, ",\"amount\":", o->amount);
    if (entry->reason != REASON_NONE) {
        strbuf_add_str(out, ",\"reason\":\"");
        strbuf_add_str(out, reason_name(entry->reason));
        strbuf_add_char(out, '"');
    }
    if (entry->payment_ref) {
        strbuf_add_str(out, ",\"payment_ref\":");
        strbuf_add_json(out, slice_of(entry->payment_ref));
        add_number(out, ",\"payment_amount\":", entry->payment_amount);
    }
    if (entry->expires_at)
        add_number(out, ",\"expires_at\":", entry->expires_at);
    strbuf_add_char(out, '}');
}

void order_event_encode(enum order_event event, const struct order_event_entry *list, size_t count, int64_t at,
                        struct strbuf *out)
{
    CHECK(count > 0 && count <= ORDER_LIST_MAX);
    strbuf_add_str(out, "{\"v\":1,\"event\":\"");
    strbuf_add_str(out, order_event_name(event));
    add_number(out, "\",\"at\":", at);
    strbuf_add_str(out, ",\"orders\":[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            strbuf_add_char(out, ',');
        add_entry(out, &list[i]);
    }
    strbuf_add_str(out, "]}");
}

void order_event_add(struct local_messages *list, enum order_event event, const struct order_event_entry *entries,
                     size_t count, int64_t at, const char *owner)
{
    const char *id = event == ORDER_EVENT_REFUND_DUE ? entries[0].payment_ref : entries[0].order->order_no;
    char topic[LOCAL_MESSAGE_KEY_MAX + 1], key[LOCAL_MESSAGE_KEY_MAX + 1];
    struct strbuf payload = STRBUF_INIT;
    int len;

    CHECK(event != ORDER_EVENT_REFUND_DUE || count == 1);
    snprintf(topic, sizeof topic, "event.%s", order_event_name(event));
    len = snprintf(key, sizeof key, "%s:%s", topic, id);
    CHECK(len > 0 && (size_t)len < sizeof key);
    order_event_encode(event, entries, count, at, &payload);
    local_messages_add(list, (struct slice){key, (size_t)len}, topic, (struct slice){payload.data, payload.len},
                       slice_of(""), owner);
    strbuf_release(&payload);
}
