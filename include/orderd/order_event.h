/* What is told on the topic exchange order.event (DESIGN section 2): JSON of version 1, one message for each change of
 * an order, the same message id however often it is sent. */
#ifndef ORDERD_ORDER_EVENT_H
#define ORDERD_ORDER_EVENT_H

#include <stdint.h>
#include "orderd/order.h"
#include "orderd/strbuf.h"

/* order.rejected:
 * {"v":1,"event":"order.rejected","order_no","activity_id","user_id","sku_id","quantity","amount","reason", "at"}; at
 * in ms since 1970. */
void order_event_rejected(const struct order *order, enum reason reason, int64_t at, struct strbuf *out);

#endif
