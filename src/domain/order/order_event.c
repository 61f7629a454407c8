#include "orderd/order_event.h"

#include <inttypes.h>

void order_event_rejected(const struct order *o, enum reason reason, int64_t at, struct strbuf *out)
{
    /* Order numbers and reasons need no escaping: their alphabets are ours. */
    strbuf_addf(out,
                "{\"v\":1,\"event\":\"order.rejected\",\"order_no\":\"%s\",\"activity_id\":%" PRId64
                ",\"user_id\":%" PRId64 ",\"sku_id\":%" PRId64 ",\"quantity\":%d,\"amount\":%" PRId64
                ",\"reason\":\"%s\",\"at\":%" PRId64 "}",
                o->order_no, o->activity_id, o->user_id, o->sku_id, o->quantity, o->amount, reason_name(reason), at);
}
