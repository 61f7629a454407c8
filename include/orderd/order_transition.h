/* The policy of order changes: what a payment, a cancellation or a timer makes of an order in a given state. Pure, by
 * the rows of tbl/order_transition.h. */
#ifndef ORDERD_ORDER_TRANSITION_H
#define ORDERD_ORDER_TRANSITION_H

#include <stdbool.h>
#include "orderd/reason.h"
#include "orderd/strbuf.h"

/* Where an order stands: its status, with the same numbers as enum order_status, or no row at all. */
enum order_standing {
#define X(status, name, live) ORDER_STANDS_##status,
#include "orderd/tbl/order_status.h"
#undef X
    ORDER_STANDS_UNKNOWN,
    ORDER_STANDING_COUNT
};

enum order_condition {
#define X(condition, name, prose) ORDER_CONDITION_##condition,
#include "orderd/tbl/order_condition.h"
#undef X
    ORDER_CONDITION_COUNT
};

enum order_does {
    ORDER_DOES_NOTHING,
    ORDER_DOES_APPLY,
    ORDER_DOES_REFUND,
    ORDER_DOES_MISMATCH,
    ORDER_DOES_CLOSE,
    ORDER_DOES_REARM
};

enum payment_outcome {
#define X(outcome, name) PAYMENT_##outcome,
#include "orderd/tbl/payment_outcome.h"
#undef X
    PAYMENT_OUTCOME_COUNT
};

struct order_transition {
    enum reason verdict;
    enum order_does does;
};

struct order_transition order_transition(enum order_condition condition, enum order_standing standing);

const char *order_condition_name(enum order_condition condition);
const char *order_standing_name(enum order_standing standing); /* that of the status, or "unknown" */
const char *payment_outcome_name(enum payment_outcome outcome);
bool payment_outcome_of_name(struct slice name, enum payment_outcome *out);

/* Which of PAY_KNOWN_* a payment is that was decided before. */
enum order_condition order_condition_of_outcome(enum payment_outcome outcome);

#endif
