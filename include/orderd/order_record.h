/* All that MySQL has of one order, for those who look into it. Reads what is committed now. */
#ifndef ORDERD_ORDER_RECORD_H
#define ORDERD_ORDER_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/order_store.h"
#include "orderd/order_transition.h"

#define ORDER_RECORD_REASON_MAX 32

/* Times are ms since 1970, by the database clock but for reserved_at; 0: there is none. */
struct order_record {
    struct order order;
    enum order_status status;
    char reason[ORDER_RECORD_REASON_MAX + 1]; /* of a closed or rejected one; the words of tbl/reason.h */
    int64_t units_returned, units_forfeited;
    char replaces[ORDER_NO_MAX + 1], replaced_by[ORDER_NO_MAX + 1]; /* "": none */
    int64_t created_at, expires_at, paid_at, closed_at;
    bool overdue; /* still pending, and its time is over */
};

/* order_no must be valid. *found is false where there is no such order. */
ORDERD_MUST_CHECK bool order_record_read(struct db *db, const char *order_no, struct order_record *out, bool *found,
                                         struct error *err);

struct order_payment {
    struct slice ref, reason; /* valid during the call */
    int64_t amount;
    enum payment_outcome outcome;
    int64_t paid_at, decided_at; /* paid_at: as the payment service said */
};

/* What was decided about payments that name this order, in the order of the decisions. */
typedef void (*order_payment_fn)(void *arg, const struct order_payment *payment);
ORDERD_MUST_CHECK bool order_record_payments(struct db *db, const char *order_no, order_payment_fn on_payment,
                                             void *arg, struct error *err);

#endif
