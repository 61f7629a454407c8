/* What is asked of orders by message (DESIGN section 2): payments, cancellations, timers. The decoders are as strict as
 * order_decode: one JSON object in UTF-8, every member present once with its type and range, members that are not ours
 * ignored, nothing behind it; any bytes of any length are safe. Each answers REASON_NONE, or the reason why not, with a
 * sentence in detail (detail_size >= 1). Pure; any thread. */
#ifndef ORDERD_ORDER_REQUEST_H
#define ORDERD_ORDER_REQUEST_H

#include "orderd/order_change.h"

/* order.paid: {"v":1,"order_no":"...","payment_ref":"...","amount":9900,"paid_at":1764400000123}; at most
 * ORDER_BODY_MAX bytes. *out becomes a PAY wish. */
enum reason order_paid_decode(struct slice body, struct order_change *out, char *detail, size_t detail_size);

/* order.cancel: {"v":1,"order_no":"...","reason":"..."}; at most ORDER_BODY_MAX bytes. *out becomes a CANCEL wish.
 * reason: 1 to ORDER_CANCEL_WHY_MAX bytes of any text, for the log; written to why with a NUL. */
#define ORDER_CANCEL_WHY_MAX 200
enum reason order_cancel_decode(struct slice body, struct order_change *out, char why[ORDER_CANCEL_WHY_MAX + 1],
                                char *detail, size_t detail_size);

/* order.unpaid: {"v":1,"orders":["...",...]}, 1 to ORDER_LIST_MAX numbers, at most ORDER_UNPAID_BODY_MAX bytes. out, of
 * ORDER_LIST_MAX, gets an EXPIRE wish for each, in their order. */
#define ORDER_UNPAID_BODY_MAX ((size_t)32 * 1024)
enum reason order_unpaid_decode(struct slice body, struct order_change *out, size_t *count, char *detail,
                                size_t detail_size);

/* The inverse: appends the message that names these valid order numbers (1 to ORDER_LIST_MAX). */
void order_unpaid_encode(const char *const *order_nos, size_t count, struct strbuf *out);

#endif
