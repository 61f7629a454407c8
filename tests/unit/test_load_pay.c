/* What orderload pay knows of itself: plans, judgement, files, events. */
#include "testing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../src/program/load/book.h"
#include "../../src/program/load/pay.h"
#include "../../src/program/load/share.h"
#include "orderd/order_store.h"
#include "orderd/order_transition.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* ---- judging ---- */

enum { NONE = PAYMENT_OUTCOME_COUNT, NO_ROW = ORDER_STATUS_COUNT };

static const struct {
    enum bill_plan plan;
    enum bill_state state;
    int status;
    bool due;
    int first, second; /* outcomes, or NONE */
    enum bill_fault fault;
} cases[] = {
    {BILL_PAY, BILL_SENT, ORDER_PAID, false, PAYMENT_APPLIED, NONE, BILL_GOOD},
    {BILL_PAY, BILL_SENT, ORDER_PAID, true, PAYMENT_APPLIED, NONE, BILL_GOOD},
    {BILL_PAY, BILL_SENT, ORDER_PAID, false, NONE, NONE, BILL_LOST_PAYMENT},
    {BILL_PAY, BILL_SENT, ORDER_PAID, false, PAYMENT_REFUND_DUE, NONE, BILL_WRONG_OUTCOME},
    {BILL_PAY, BILL_SENT, ORDER_PAID, false, PAYMENT_AMOUNT_MISMATCH, NONE, BILL_WRONG_OUTCOME},
    {BILL_PAY, BILL_SENT, ORDER_PAID, false, PAYMENT_APPLIED, PAYMENT_REFUND_DUE, BILL_UNKNOWN_PAYMENT},
    {BILL_PAY, BILL_SENT, ORDER_CLOSED, true, PAYMENT_REFUND_DUE, NONE, BILL_NOT_PAID},
    {BILL_PAY, BILL_SENT, ORDER_PENDING, false, NONE, NONE, BILL_NOT_PAID},
    {BILL_PAY, BILL_SENT, NO_ROW, false, PAYMENT_APPLIED, NONE, BILL_NOT_PAID},
    {BILL_PAY, BILL_CLOSE, ORDER_CLOSED, true, PAYMENT_REFUND_DUE, NONE, BILL_GOOD},
    {BILL_PAY, BILL_CLOSE, ORDER_CLOSED, true, PAYMENT_APPLIED, NONE, BILL_WRONG_OUTCOME},
    {BILL_PAY, BILL_CLOSE, ORDER_CLOSED, true, NONE, NONE, BILL_LOST_PAYMENT},
    {BILL_PAY, BILL_CLOSE, ORDER_PENDING, true, PAYMENT_REFUND_DUE, NONE, BILL_NOT_CLOSED},
    {BILL_PAY, BILL_PLANNED, ORDER_CLOSED, true, NONE, NONE, BILL_GOOD},
    {BILL_PAY, BILL_PLANNED, ORDER_PAID, false, NONE, NONE, BILL_WRONG_OUTCOME},
    {BILL_AGAIN, BILL_SENT, ORDER_PAID, false, PAYMENT_APPLIED, NONE, BILL_GOOD},
    {BILL_SECOND, BILL_SENT, ORDER_PAID, false, PAYMENT_APPLIED, PAYMENT_REFUND_DUE, BILL_GOOD},
    {BILL_SECOND, BILL_SENT, ORDER_PAID, false, PAYMENT_REFUND_DUE, PAYMENT_APPLIED, BILL_GOOD},
    {BILL_SECOND, BILL_SENT, ORDER_PAID, false, PAYMENT_APPLIED, PAYMENT_APPLIED, BILL_WRONG_OUTCOME},
    {BILL_SECOND, BILL_SENT, ORDER_PAID, false, PAYMENT_APPLIED, NONE, BILL_LOST_PAYMENT},
    {BILL_SECOND, BILL_CLOSE, ORDER_CLOSED, true, PAYMENT_REFUND_DUE, PAYMENT_REFUND_DUE, BILL_GOOD},
    {BILL_WRONG, BILL_SENT, ORDER_CLOSED, true, PAYMENT_AMOUNT_MISMATCH, NONE, BILL_GOOD},
    {BILL_WRONG, BILL_SENT, ORDER_PENDING, false, PAYMENT_AMOUNT_MISMATCH, NONE, BILL_GOOD},
    {BILL_WRONG, BILL_SENT, ORDER_PENDING, true, PAYMENT_AMOUNT_MISMATCH, NONE, BILL_NOT_CLOSED},
    {BILL_WRONG, BILL_SENT, ORDER_PAID, false, PAYMENT_APPLIED, NONE, BILL_NOT_CLOSED},
    {BILL_WRONG, BILL_SENT, ORDER_CLOSED, true, PAYMENT_REFUND_DUE, NONE, BILL_WRONG_OUTCOME},
    {BILL_LATE, BILL_SENT, ORDER_CLOSED, true, PAYMENT_REFUND_DUE, NONE, BILL_GOOD},
    {BILL_LATE, BILL_SENT, ORDER_CLOSED, true, NONE, NONE, BILL_LOST_PAYMENT},
    {BILL_LATE, BILL_SENT, ORDER_PAID, true, PAYMENT_APPLIED, NONE, BILL_NOT_CLOSED},
    {BILL_LATE, BILL_PLANNED, ORDER_PENDING, false, NONE, NONE, BILL_GOOD},
    {BILL_LATE, BILL_PLANNED, ORDER_CLOSED, true, NONE, NONE, BILL_GOOD},
    {BILL_UNPAID, BILL_SENT, ORDER_CLOSED, true, NONE, NONE, BILL_GOOD},
    {BILL_UNPAID, BILL_SENT, ORDER_PENDING, false, NONE, NONE, BILL_GOOD},
    {BILL_UNPAID, BILL_SENT, ORDER_PENDING, true, NONE, NONE, BILL_NOT_CLOSED},
    {BILL_UNPAID, BILL_SENT, ORDER_REJECTED, true, NONE, NONE, BILL_NOT_CLOSED},
    {BILL_UNPAID, BILL_SENT, ORDER_CLOSED, true, PAYMENT_REFUND_DUE, NONE, BILL_UNKNOWN_PAYMENT},
    {BILL_CANCEL, BILL_SENT, ORDER_CLOSED, false, NONE, NONE, BILL_GOOD},
    {BILL_CANCEL, BILL_SENT, ORDER_PENDING, false, NONE, NONE, BILL_NOT_CLOSED},
    {BILL_CANCEL, BILL_SENT, ORDER_PAID, false, NONE, NONE, BILL_NOT_CLOSED},
    {BILL_RACE, BILL_SENT, ORDER_CLOSED, false, PAYMENT_REFUND_DUE, NONE, BILL_GOOD},
    {BILL_RACE, BILL_SENT, ORDER_PAID, false, PAYMENT_APPLIED, NONE, BILL_GOOD},
    {BILL_RACE, BILL_SENT, ORDER_PAID, false, PAYMENT_REFUND_DUE, NONE, BILL_WRONG_OUTCOME},
    {BILL_RACE, BILL_SENT, ORDER_PENDING, false, NONE, NONE, BILL_NOT_CLOSED},
    {BILL_PAY_CANCEL, BILL_SENT, ORDER_PAID, false, PAYMENT_APPLIED, NONE, BILL_GOOD},
    {BILL_PAY_CANCEL, BILL_SENT, ORDER_CLOSED, false, PAYMENT_APPLIED, NONE, BILL_NOT_PAID},
};

static void see(struct bill *b, unsigned n, int outcome)
{
    if (outcome == NONE)
        return;
    b->seen.payments[n].rows = 1;
    b->seen.payments[n].outcome = (uint8_t)outcome;
    b->seen.payments[n].amount = bill_payment_amount(b);
}

static struct bill bill_of_case(int i)
{
    struct bill b = {.amount = 9900, .plan = (uint8_t)cases[i].plan, .state = (uint8_t)cases[i].state};

    b.seen.status = (uint8_t)cases[i].status;
    b.seen.due = cases[i].due;
    see(&b, 0, cases[i].first);
    see(&b, 1, cases[i].second);
    return b;
}

START_TEST(bills_are_judged)
{
    struct bill b = bill_of_case(_i);

    ck_assert_msg(bill_judge(&b) == cases[_i].fault, "case %d: %s, not %s", _i, bill_fault_words(bill_judge(&b)),
                  bill_fault_words(cases[_i].fault));
    if (cases[_i].fault != BILL_GOOD)
        return;
    b.seen.foreign = 1;
    ck_assert_int_eq(bill_judge(&b), BILL_UNKNOWN_PAYMENT);
    b.seen.foreign = 0;
    if (b.seen.payments[0].rows) {
        b.seen.payments[0].amount++;
        ck_assert_int_eq(bill_judge(&b), BILL_WRONG_AMOUNT);
    }
}
END_TEST

/* ---- events ---- */

#define EVENT(name, rest) "{\"v\":1,\"event\":\"order." name "\",\"at\":1,\"orders\":[{\"order_no\":\"7\"," rest "}]}"

static void tell(struct pay_ear *ear, const char *id, const char *body)
{
    pay_ear_take(ear, slice_of(id), slice_of(body));
}

START_TEST(an_event_counts_once_by_its_id)
{
    struct pay_ear ear = {.activity = 9};
    struct bill_heard h;

    tell(&ear, "order.created:7", EVENT("created", "\"activity_id\":9"));
    tell(&ear, "order.created:7", EVENT("created", "\"activity_id\":9"));
    tell(&ear, "order.paid:7", EVENT("paid", "\"activity_id\":9"));
    tell(&ear, "order.paid:7b", EVENT("paid", "\"activity_id\":9"));
    tell(&ear, "order.closed:7", EVENT("closed", "\"activity_id\":8"));
    tell(&ear, "order.refund_due:7.2", EVENT("refund_due", "\"activity_id\":9,\"payment_ref\":\"7.2\""));
    tell(&ear, "order.refund_due:x", EVENT("refund_due", "\"activity_id\":9,\"payment_ref\":\"x\""));
    tell(&ear, "nonsense", "nonsense");
    h = pay_ear_heard(&ear, "7");
    ck_assert_uint_eq(h.created, 1);
    ck_assert_uint_eq(h.paid, 2);
    ck_assert_uint_eq(h.closed, 0);
    ck_assert_uint_eq(h.refund[0], 0);
    ck_assert_uint_eq(h.refund[1], 1);
    ck_assert_int_eq(ear.events, 7);
    ck_assert_int_eq(ear.repeats, 1);
    ck_assert_int_eq(ear.unreadable, 1);
    ck_assert_int_eq(ear.told[ORDER_EVENT_CREATED], 1);
    ck_assert_int_eq(ear.told[ORDER_EVENT_PAID], 2);
    ck_assert_int_eq(ear.told[ORDER_EVENT_CLOSED], 0); /* another activity's */
    ck_assert_int_eq(ear.told[ORDER_EVENT_REFUND_DUE], 2);
    ck_assert_uint_eq(pay_ear_heard(&ear, "8").created, 0);
    pay_ear_close(&ear);
}
END_TEST

START_TEST(each_change_is_told_once)
{
    struct bill b = {.amount = 1, .plan = BILL_SECOND, .seen = {.status = ORDER_PAID, .heard = true}};
    struct bill_heard right = {.created = 1, .paid = 1, .refund = {0, 1}}, h = right;

    see(&b, 0, PAYMENT_APPLIED);
    see(&b, 1, PAYMENT_REFUND_DUE);
    ck_assert(bill_heard_right(&b, &h));
    h.created = 0;
    ck_assert(!bill_heard_right(&b, &h));
    b.seen.heard = false; /* created before anybody listened */
    ck_assert(bill_heard_right(&b, &h));
    h.created = 2;
    ck_assert(!bill_heard_right(&b, &h));
    h = right;
    h.paid = 2;
    ck_assert(!bill_heard_right(&b, &h));
    h = right;
    h.closed = 1;
    ck_assert(!bill_heard_right(&b, &h));
    h = right;
    h.refund[1] = 0;
    ck_assert(!bill_heard_right(&b, &h));
    h = right;
    h.refund[0] = 1;
    ck_assert(!bill_heard_right(&b, &h));
}
END_TEST

/* ---- the payments file ---- */

static char path[64];

static const char *scratch_file(const char *content)
{
    int fd;

    snprintf(path, sizeof path, "/tmp/orderd_test_bills_XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    close(fd);
    return path;
}

START_TEST(the_last_line_of_an_order_counts)
{
    struct bills bills;
    struct error err = {0};
    uint32_t index;
    FILE *file;

    bills_init(&bills, 9);
    file = bills_open(scratch_file("11 9 100 late pla"), &err); /* a run that was killed */
    ck_assert_ok(file, &err);
    for (int i = 0; i < 600; i++) {
        char order_no[16];

        snprintf(order_no, sizeof order_no, "%d", 1000 + i);
        index = bills_add(&bills, slice_of(order_no), i);
        bills.list[index].plan = (uint8_t)(i % BILL_PLANS);
        bills_write(file, &bills, index);
    }
    bills.list[3].state = BILL_CLOSE;
    bills_write(file, &bills, 3);
    fprintf(file, "1001 8 5 pay sent\n1002 9 100 wro");
    fclose(file);
    bills_release(&bills);
    bills_init(&bills, 9);
    ck_assert_ok(bills_read(&bills, path, &err), &err);
    ck_assert_uint_eq(bills.ids.count, 600);
    for (uint32_t i = 0; i < 600; i++) {
        ck_assert_uint_eq(bills.list[i].plan, i % BILL_PLANS);
        ck_assert_int_eq(bills.list[i].amount, i);
        ck_assert_uint_eq(bills.list[i].state, i == 3 ? BILL_CLOSE : BILL_PLANNED);
    }
    bills_release(&bills);
    unlink(path);
}
END_TEST

START_TEST(payments_files_of_something_else_are_told_from_empty_ones)
{
    struct bills bills;
    struct error err = {0};

    bills_init(&bills, 9);
    ck_assert_ok(bills_read(&bills, scratch_file(""), &err), &err);
    ck_assert_uint_eq(bills.passed.complete, 0);
    ck_assert_ok(bills_read(&bills, scratch_file("# head\n10 8 100 pay sent\n10 7 100 pay sent\n"), &err), &err);
    ck_assert_uint_eq(bills.passed.complete, 3);
    ck_assert_int_eq(bills.passed.other, 8);
    ck_assert_uint_eq(bills.passed.of_other, 1);
    ck_assert_uint_eq(bills.passed.of_more, 1);
    ck_assert(!bills_read(&bills, scratch_file("notes"), &err));
    ck_assert_int_eq(err.code, ERROR_INPUT_INVALID);
    ck_assert(!bills_read(&bills, "/nope/payments", &err));
    ck_assert_int_eq(err.code, ERROR_IO);
    bills_release(&bills);
    unlink(path);
}
END_TEST

static const char *const bad_lines[] = {"11 9 100 pay",        "11 9 100 pay sent more", "11 9 -1 pay sent",
                                        "11 9 100 steal sent", "11 9 100 pay lost",      "a*b 9 100 pay sent",
                                        "11 none 100 pay sent"};

START_TEST(a_damaged_payments_file_is_refused_by_line)
{
    struct bills bills;
    struct error err = {0};
    char text[128];

    bills_init(&bills, 9);
    snprintf(text, sizeof text, "# head\n10 9 100 pay sent\n%s\n", bad_lines[_i]);
    ck_assert(!bills_read(&bills, scratch_file(text), &err));
    ck_assert_int_eq(err.code, ERROR_INPUT_INVALID);
    ck_assert_msg(strstr(err.text, ":3:") != NULL, "%s", err.text);
    bills_release(&bills);
    unlink(path);
}
END_TEST

/* ---- shares ---- */

START_TEST(shares_are_exact_and_spread)
{
    const double percents[] = {60, 7, 3, 8, 22};
    double owed[COUNT(percents)] = {0};
    int chosen[COUNT(percents)] = {0};

    for (int n = 1; n <= 1000; n++) {
        chosen[share_choose(owed, percents, COUNT(percents))]++;
        for (int i = 0; i < COUNT(percents); i++)
            ck_assert_msg(chosen[i] >= n * percents[i] / 100 - 2 && chosen[i] <= n * percents[i] / 100 + 2,
                          "share %d has %d of %d", i, chosen[i], n);
    }
    for (int i = 0; i < COUNT(percents); i++)
        ck_assert_int_eq(chosen[i], (int)(percents[i] * 10));
}
END_TEST

/* ---- replays ---- */

START_TEST(a_replay_is_known_by_its_original)
{
    struct order order = {.order_no = "17", .user_id = 5, .quantity = 2, .amount = 200, .epoch = 1};
    struct book book;
    uint32_t index;

    book_init(&book, 9, 77);
    (void)book_accept(&book, &order, BOOK_RESERVED);
    index = book_see(&book, slice_of("17-r12"));
    ck_assert_int_eq(book.entries[index].how, BOOK_REPLAYED);
    ck_assert_int_eq(book.entries[index].user, 5);
    ck_assert_int_eq(book.entries[index].amount, 200);
    ck_assert_uint_eq(book_original(&book, slice_of("17-r12")), 0);
    ck_assert_uint_eq(book_original(&book, slice_of("17-r")), IDSET_NONE);
    ck_assert_uint_eq(book_original(&book, slice_of("17-1")), IDSET_NONE);
    ck_assert_uint_eq(book_original(&book, slice_of("18-r1")), IDSET_NONE);
    ck_assert_uint_eq(book_original(&book, slice_of("-r1")), IDSET_NONE);
    ck_assert_int_eq(book.entries[book_see(&book, slice_of("18-r1"))].how, BOOK_NOT_ACCEPTED);
    book_release(&book);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load_pay");
    TCase *t = tcase_create("load_pay");

    tcase_add_loop_test(t, bills_are_judged, 0, COUNT(cases));
    tcase_add_test(t, an_event_counts_once_by_its_id);
    tcase_add_test(t, each_change_is_told_once);
    tcase_add_test(t, the_last_line_of_an_order_counts);
    tcase_add_test(t, payments_files_of_something_else_are_told_from_empty_ones);
    tcase_add_loop_test(t, a_damaged_payments_file_is_refused_by_line, 0, COUNT(bad_lines));
    tcase_add_test(t, shares_are_exact_and_spread);
    tcase_add_test(t, a_replay_is_known_by_its_original);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
