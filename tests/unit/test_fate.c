/* The policies of flow/create/fate and flow/lane/fate by table, every reason with every number of tries. */
#include "testing.h"

#include "../../src/flow/create/fate.h"

/* What DESIGN section 6 wants of each reason while tries are left, and afterwards. */
static const struct {
    enum reason reason;
    enum fate first, last;
} policy[] = {
    {REASON_NONE, FATE_OPEN, FATE_OPEN},
    {REASON_CREATED, FATE_DONE, FATE_DONE},
    {REASON_DUPLICATE, FATE_DONE, FATE_DONE},
    /* trying again cannot help, and no stock moves on the word of such bytes */
    {REASON_BODY_TOO_LARGE, FATE_DEAD, FATE_DEAD},
    {REASON_BODY_NOT_JSON, FATE_DEAD, FATE_DEAD},
    {REASON_MEMBER_DUPLICATE, FATE_DEAD, FATE_DEAD},
    {REASON_MEMBER_MISSING, FATE_DEAD, FATE_DEAD},
    {REASON_MEMBER_TYPE, FATE_DEAD, FATE_DEAD},
    {REASON_MEMBER_RANGE, FATE_DEAD, FATE_DEAD},
    {REASON_VERSION_UNKNOWN, FATE_DEAD, FATE_DEAD},
    {REASON_ORDER_NO_INVALID, FATE_DEAD, FATE_DEAD},
    {REASON_ORDER_CONFLICT, FATE_DEAD, FATE_DEAD},
    {REASON_AMOUNT_MISMATCH, FATE_DEAD, FATE_DEAD},
    {REASON_SKU_MISMATCH, FATE_DEAD, FATE_DEAD},
    {REASON_DELIVERY_LIMIT, FATE_DEAD, FATE_DEAD},
    /* decided at once */
    {REASON_BUYER_HAS_ORDER, FATE_DECIDE, FATE_DECIDE},
    {REASON_UNRECOVERABLE, FATE_DECIDE, FATE_DECIDE},
    {REASON_DISCARDED, FATE_DECIDE, FATE_DECIDE},
    {REASON_SOLD_OUT, FATE_DECIDE, FATE_DECIDE},
    {REASON_SALE_OVER, FATE_DECIDE, FATE_DECIDE},
    {REASON_NUMBER_GONE, FATE_DECIDE, FATE_DECIDE},
    {REASON_ACTIVITY_SETTLED, FATE_DECIDE, FATE_DECIDE},
    /* the message's own failure: again, then decided; without an activity there is nothing to give back */
    {REASON_STOCK_SHORT, FATE_RETRY, FATE_DECIDE},
    {REASON_CONSTRAINT, FATE_RETRY, FATE_DECIDE},
    {REASON_ERROR_UNKNOWN, FATE_RETRY, FATE_DECIDE},
    {REASON_ACTIVITY_UNKNOWN, FATE_RETRY, FATE_DEAD},
    /* of changes of orders; the create lane meets none of them */
    {REASON_PAID, FATE_DONE, FATE_DONE},
    {REASON_PAID_BEFORE, FATE_DONE, FATE_DONE},
    {REASON_REFUND_SECOND, FATE_DONE, FATE_DONE},
    {REASON_REFUND_CLOSED, FATE_DONE, FATE_DONE},
    {REASON_REFUND_REJECTED, FATE_DONE, FATE_DONE},
    {REASON_REFUND_BEFORE, FATE_DONE, FATE_DONE},
    {REASON_PAYMENT_REF_INVALID, FATE_DEAD, FATE_DEAD},
    {REASON_PAYMENT_AMOUNT, FATE_DEAD, FATE_DEAD},
    {REASON_PAYMENT_CONFLICT, FATE_DEAD, FATE_DEAD},
    {REASON_CANCELLED, FATE_DONE, FATE_DONE},
    {REASON_CANCEL_PAID, FATE_DONE, FATE_DONE},
    {REASON_UNPAID, FATE_DONE, FATE_DONE},
    {REASON_NOT_DUE, FATE_DONE, FATE_DONE},
    {REASON_TIMER_PAID, FATE_DONE, FATE_DONE},
    {REASON_TIMER_UNKNOWN, FATE_DONE, FATE_DONE},
    {REASON_CLOSED_BEFORE, FATE_DONE, FATE_DONE},
    {REASON_REJECTED_BEFORE, FATE_DONE, FATE_DONE},
    {REASON_ORDER_UNKNOWN, FATE_RETRY, FATE_DECIDE},
    {REASON_ROW_DELETED, FATE_RETRY, FATE_DECIDE},
};

static const int64_t attempts[] = {0, 1, 2, 3, 4, 1000, INT64_MAX};
static const size_t retries[] = {0, 1, 3, 16};

START_TEST(every_reason_and_number_of_tries)
{
    for (size_t r = 0; r < sizeof retries / sizeof *retries; r++) {
        for (size_t a = 0; a < sizeof attempts / sizeof *attempts; a++) {
            bool left = (uint64_t)attempts[a] < retries[r];
            enum fate want = left ? policy[_i].first : policy[_i].last;

            ck_assert_msg(fate_of(policy[_i].reason, attempts[a], retries[r]) == want,
                          "%s after %lld of %zu retries: fate %d, expected %d", reason_name(policy[_i].reason),
                          (long long)attempts[a], retries[r], fate_of(policy[_i].reason, attempts[a], retries[r]),
                          want);
        }
    }
}
END_TEST

/* The engine's own, for kinds that decide nothing terminally: a failure that used up its tries is a dead letter. */
START_TEST(without_a_decision)
{
    for (size_t r = 0; r < sizeof retries / sizeof *retries; r++) {
        for (size_t a = 0; a < sizeof attempts / sizeof *attempts; a++) {
            bool spent = (uint64_t)attempts[a] >= retries[r];
            enum fate want = spent && policy[_i].first == FATE_RETRY ? FATE_DEAD : policy[_i].first;

            ck_assert_int_eq(lane_fate(policy[_i].reason, attempts[a], retries[r]), want);
        }
    }
}
END_TEST

/* A reason that is added to tbl/reason.h must be given its policy here too. */
START_TEST(no_reason_is_left_out)
{
    bool seen[REASON_COUNT] = {false};

    for (size_t i = 0; i < sizeof policy / sizeof *policy; i++) {
        ck_assert_msg(!seen[policy[i].reason], "%s stands twice", reason_name(policy[i].reason));
        seen[policy[i].reason] = true;
    }
    for (int i = 0; i < REASON_COUNT; i++)
        ck_assert_msg(seen[i], "%s has no policy in this test", reason_name((enum reason)i));
}
END_TEST

/* The number of tries is that of the retry queues, never more, whatever stands in the header at the beginning. */
START_TEST(as_many_tries_as_queues)
{
    for (size_t r = 0; r < sizeof retries / sizeof *retries; r++) {
        int64_t attempt = 0;

        while (fate_of(REASON_CONSTRAINT, attempt, retries[r]) == FATE_RETRY)
            attempt++;
        ck_assert_int_eq(attempt, (int64_t)retries[r]);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fate");
    TCase *c = tcase_create("policy");

    tcase_add_loop_test(c, every_reason_and_number_of_tries, 0, (int)(sizeof policy / sizeof *policy));
    tcase_add_loop_test(c, without_a_decision, 0, (int)(sizeof policy / sizeof *policy));
    tcase_add_test(c, no_reason_is_left_out);
    tcase_add_test(c, as_many_tries_as_queues);
    suite_add_tcase(s, c);
    return testing_main(s);
}
