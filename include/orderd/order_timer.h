/* The timers of DESIGN section 8. The transaction that creates orders leaves, for each pay time-out and ORDER_LIST_MAX
 * orders, a local message of topic order.unpaid.<ms> behind. The delay queue of that name keeps it for <ms> and hands
 * it to order.unpaid (order_unpaid_decode). A timer decides nothing by itself, it only asks: however often, however
 * late or from wherever it comes, the row and the database's clock decide. */
#ifndef ORDERD_ORDER_TIMER_H
#define ORDERD_ORDER_TIMER_H

#include <stddef.h>
#include <stdint.h>
#include "orderd/local_message.h"

/* Adds the timers of these orders, leased to owner, to what a transaction writes: one message for ORDER_LIST_MAX of
 * them. Key "order.unpaid:<number of the first order>"; an order is created once, so the key cannot stand already.
 * count > 0. */
void order_timer_add(struct local_messages *list, const char *const *order_nos, size_t count, int64_t pay_timeout_ms,
                     const char *owner);

#endif
