#include "orderd/order_timer.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/check.h"
#include "orderd/order.h"
#include "orderd/order_request.h"

static void add_one(struct local_messages *list, const char *const *order_nos, size_t count, int64_t pay_timeout_ms,
                    const char *owner)
{
    char topic[LOCAL_MESSAGE_KEY_MAX + 1], key[LOCAL_MESSAGE_KEY_MAX + 1];
    struct strbuf payload = STRBUF_INIT;
    int len = snprintf(key, sizeof key, "order.unpaid:%s", order_nos[0]);

    snprintf(topic, sizeof topic, "order.unpaid.%" PRId64, pay_timeout_ms);
    order_unpaid_encode(order_nos, count, &payload);
    local_messages_add(list, (struct slice){key, (size_t)len}, topic, (struct slice){payload.data, payload.len},
                       slice_of(""), owner);
    strbuf_release(&payload);
}

void order_timer_add(struct local_messages *list, const char *const *order_nos, size_t count, int64_t pay_timeout_ms,
                     const char *owner)
{
    CHECK(count > 0);
    for (size_t i = 0; i < count; i += ORDER_LIST_MAX)
        add_one(list, order_nos + i, count - i < ORDER_LIST_MAX ? count - i : ORDER_LIST_MAX, pay_timeout_ms, owner);
}
