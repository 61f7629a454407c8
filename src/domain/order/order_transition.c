#include "orderd/order_transition.h"

#include "orderd/check.h"

#define ORDER_STANDS_ANY ORDER_STANDING_COUNT /* in the table only */

static const struct row {
    enum order_condition condition;
    enum order_standing standing;
    struct order_transition to;
} rows[] = {
#define X(condition, stands, verdict, does)                                                                            \
    {ORDER_CONDITION_##condition, ORDER_STANDS_##stands, {REASON_##verdict, ORDER_DOES_##does}},
#include "orderd/tbl/order_transition.h"
#undef X
};

#define ROWS (sizeof rows / sizeof *rows)

struct order_transition order_transition(enum order_condition condition, enum order_standing standing)
{
    size_t i = 0;

    while (i < ROWS &&
           (rows[i].condition != condition || (rows[i].standing != standing && rows[i].standing != ORDER_STANDS_ANY)))
        i++;
    CHECK(i < ROWS);
    return rows[i].to;
}

const char *order_condition_name(enum order_condition condition)
{
    static const char *const names[] = {
#define X(condition, name, prose) [ORDER_CONDITION_##condition] = name,
#include "orderd/tbl/order_condition.h"
#undef X
    };

    CHECK(condition < ORDER_CONDITION_COUNT);
    return names[condition];
}

const char *order_standing_name(enum order_standing standing)
{
    static const char *const names[] = {
#define X(status, name, live) [ORDER_STANDS_##status] = name,
#include "orderd/tbl/order_status.h"
#undef X
        [ORDER_STANDS_UNKNOWN] = "unknown",
    };

    CHECK(standing < ORDER_STANDING_COUNT);
    return names[standing];
}

const char *payment_outcome_name(enum payment_outcome outcome)
{
    static const char *const names[] = {
#define X(outcome, name) [PAYMENT_##outcome] = name,
#include "orderd/tbl/payment_outcome.h"
#undef X
    };

    CHECK(outcome < PAYMENT_OUTCOME_COUNT);
    return names[outcome];
}

bool payment_outcome_of_name(struct slice name, enum payment_outcome *out)
{
    for (int i = 0; i < PAYMENT_OUTCOME_COUNT; i++) {
        if (slice_is(name, payment_outcome_name((enum payment_outcome)i))) {
            *out = (enum payment_outcome)i;
            return true;
        }
    }
    return false;
}

enum order_condition order_condition_of_outcome(enum payment_outcome outcome)
{
    static const enum order_condition conditions[PAYMENT_OUTCOME_COUNT] = {
        [PAYMENT_APPLIED] = ORDER_CONDITION_PAY_KNOWN_APPLIED,
        [PAYMENT_REFUND_DUE] = ORDER_CONDITION_PAY_KNOWN_REFUND,
        [PAYMENT_AMOUNT_MISMATCH] = ORDER_CONDITION_PAY_KNOWN_AMOUNT,
    };

    CHECK(outcome < PAYMENT_OUTCOME_COUNT);
    return conditions[outcome];
}
