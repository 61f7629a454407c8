/* The decoders of order.paid, order.cancel and order.unpaid: a reason for every refusal, and no bytes that hurt. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/order_request.h"

enum kind { PAID, CANCEL, UNPAID };

static struct order_change out[ORDER_LIST_MAX];
static size_t count;
static char why[ORDER_CANCEL_WHY_MAX + 1], detail[200];

static enum reason decode(enum kind kind, struct slice body)
{
    count = 1;
    switch (kind) {
    case PAID:
        return order_paid_decode(body, out, detail, sizeof detail);
    case CANCEL:
        return order_cancel_decode(body, out, why, detail, sizeof detail);
    case UNPAID:
        break;
    }
    return order_unpaid_decode(body, out, &count, detail, sizeof detail);
}

#define PAID_HEAD     "{\"v\":1,\"order_no\":\"A_1-r2\",\"payment_ref\":\"pay:1/x#7\","
#define PAID_TAIL     "\"amount\":9900,\"paid_at\":1764400000123}"
#define PAID_REF(r)   "{\"v\":1,\"order_no\":\"A_1\",\"payment_ref\":" r "," PAID_TAIL
#define CANCEL_WHY(w) "{\"v\":1,\"order_no\":\"A_1\",\"reason\":" w "}"
#define SIXTYFOUR     "0123456789012345678901234567890123456789012345678901234567890123"

static const char *const good[] = {
    [PAID] = PAID_HEAD PAID_TAIL,
    [CANCEL] = CANCEL_WHY("\"the buyer \\\"changed\\\" \xe2\x80\xa6\""),
    [UNPAID] = "{\"v\":1,\"orders\":[\"A_1\",\"B-r9999\"]}",
};

static const struct {
    enum kind kind;
    const char *body;
    enum reason reason;
} cases[] = {
    {PAID, PAID_HEAD PAID_TAIL, REASON_NONE},
    {PAID, " " PAID_HEAD "\"method\":{\"card\":[1,null]}," PAID_TAIL "\n", REASON_NONE},
    {PAID, "", REASON_BODY_NOT_JSON},
    {PAID, "[]", REASON_BODY_NOT_JSON},
    {PAID, "{}", REASON_MEMBER_MISSING},
    {PAID, PAID_HEAD PAID_TAIL PAID_HEAD PAID_TAIL, REASON_BODY_NOT_JSON},
    {PAID, PAID_HEAD "\"amount\":1," PAID_TAIL, REASON_MEMBER_DUPLICATE},
    {PAID, PAID_HEAD "\"x\":\"\xff\"," PAID_TAIL, REASON_BODY_NOT_JSON},
    {PAID, "{\"v\":2}", REASON_VERSION_UNKNOWN},
    {PAID, "{\"v\":1.0}", REASON_MEMBER_TYPE},
    {PAID, "{\"v\":1,\"order_no\":7}", REASON_MEMBER_TYPE},
    {PAID, "{\"v\":1,\"order_no\":\"A';DROP TABLE orders\"}", REASON_ORDER_NO_INVALID},
    {PAID, "{\"v\":1,\"order_no\":\"A\"}", REASON_MEMBER_MISSING},
    {PAID, PAID_REF("\"" SIXTYFOUR "\""), REASON_NONE},
    {PAID, PAID_REF("\"!#$%&()*+,-./:;<=>?@[]^_{|}~\""), REASON_NONE},
    {PAID, PAID_REF("\"" SIXTYFOUR "4\""), REASON_PAYMENT_REF_INVALID},
    {PAID, PAID_REF("\"\""), REASON_PAYMENT_REF_INVALID},
    {PAID, PAID_REF("\"a b\""), REASON_PAYMENT_REF_INVALID},
    {PAID, PAID_REF("\"a'b\""), REASON_PAYMENT_REF_INVALID},
    {PAID, PAID_REF("\"a\\\"b\""), REASON_PAYMENT_REF_INVALID},
    {PAID, PAID_REF("\"a\\\\b\""), REASON_PAYMENT_REF_INVALID},
    {PAID, PAID_REF("\"a`b\""), REASON_PAYMENT_REF_INVALID},
    {PAID, PAID_REF("\"a\\nb\""), REASON_PAYMENT_REF_INVALID},
    {PAID, PAID_REF("\"a\\u007fb\""), REASON_PAYMENT_REF_INVALID},
    {PAID, PAID_REF("\"\xc3\xa9\""), REASON_PAYMENT_REF_INVALID},
    {PAID, PAID_REF("42"), REASON_MEMBER_TYPE},
    {PAID, PAID_REF("null"), REASON_MEMBER_TYPE},
    {PAID, PAID_HEAD "\"amount\":99.0,\"paid_at\":1764400000123}", REASON_MEMBER_TYPE},
    {PAID, PAID_HEAD "\"amount\":\"9900\",\"paid_at\":1764400000123}", REASON_MEMBER_TYPE},
    {PAID, PAID_HEAD "\"amount\":-1,\"paid_at\":1764400000123}", REASON_MEMBER_RANGE},
    {PAID, PAID_HEAD "\"amount\":1000000000000000,\"paid_at\":1764400000123}", REASON_MEMBER_RANGE},
    {PAID, PAID_HEAD "\"amount\":0,\"paid_at\":1764400000123}", REASON_NONE},
    {PAID, PAID_HEAD "\"amount\":1,\"paid_at\":1764400000}", REASON_MEMBER_RANGE}, /* seconds */
    {PAID, PAID_HEAD "\"amount\":1}", REASON_MEMBER_MISSING},

    {CANCEL, CANCEL_WHY("\"x\""), REASON_NONE},
    {CANCEL, CANCEL_WHY("\"\""), REASON_MEMBER_RANGE},
    {CANCEL, CANCEL_WHY("3"), REASON_MEMBER_TYPE},
    {CANCEL, "{\"v\":1,\"order_no\":\"A\"}", REASON_MEMBER_MISSING},
    {CANCEL, "{\"v\":1,\"reason\":\"x\"}", REASON_MEMBER_MISSING},
    {CANCEL, "{\"v\":1,\"order_no\":\"\",\"reason\":\"x\"}", REASON_ORDER_NO_INVALID},
    {CANCEL, "{\"v\":3,\"order_no\":\"A\",\"reason\":\"x\"}", REASON_VERSION_UNKNOWN},
    {CANCEL, "{\"v\":1,\"order_no\":\"A\",\"reason\":\"x\",\"reason\":\"y\"}", REASON_MEMBER_DUPLICATE},

    {UNPAID, "{\"v\":1,\"orders\":[\"A\"]}", REASON_NONE},
    {UNPAID, "{\"v\":1,\"orders\":[\"A\",\"A\"]}", REASON_NONE},
    {UNPAID, "{\"v\":1,\"orders\":[]}", REASON_MEMBER_RANGE},
    {UNPAID, "{\"v\":1,\"orders\":\"A\"}", REASON_MEMBER_TYPE},
    {UNPAID, "{\"v\":1,\"orders\":{\"A\":1}}", REASON_MEMBER_TYPE},
    {UNPAID, "{\"v\":1}", REASON_MEMBER_MISSING},
    {UNPAID, "{\"v\":1,\"orders\":[1]}", REASON_MEMBER_TYPE},
    {UNPAID, "{\"v\":1,\"orders\":[\"A\",null]}", REASON_MEMBER_TYPE},
    {UNPAID, "{\"v\":1,\"orders\":[[\"A\"]]}", REASON_MEMBER_TYPE},
    {UNPAID, "{\"v\":1,\"orders\":[\"A\",\"\"]}", REASON_ORDER_NO_INVALID},
    {UNPAID, "{\"v\":1,\"orders\":[\"A','B\"]}", REASON_ORDER_NO_INVALID},
    {UNPAID, "{\"v\":0,\"orders\":[\"A\"]}", REASON_VERSION_UNKNOWN},
};

START_TEST(each_body_has_its_reason)
{
    enum reason reason = decode(cases[_i].kind, slice_of(cases[_i].body));

    ck_assert_msg(reason == cases[_i].reason, "%s: %s (%s)", cases[_i].body, reason_name(reason), detail);
    ck_assert_msg((detail[0] != '\0') == (reason != REASON_NONE), "a refusal says why: %s", cases[_i].body);
    if (reason != REASON_NONE && cases[_i].kind == UNPAID)
        ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(values)
{
    ck_assert_int_eq(decode(PAID, slice_of(good[PAID])), REASON_NONE);
    ck_assert_str_eq(out[0].order_no, "A_1-r2");
    ck_assert_int_eq(out[0].wish, ORDER_WISH_PAY);
    ck_assert_str_eq(out[0].payment_ref, "pay:1/x#7");
    ck_assert_int_eq(out[0].amount, 9900);
    ck_assert_int_eq(out[0].paid_at, INT64_C(1764400000123));

    ck_assert_int_eq(decode(CANCEL, slice_of(good[CANCEL])), REASON_NONE);
    ck_assert_str_eq(out[0].order_no, "A_1");
    ck_assert_int_eq(out[0].wish, ORDER_WISH_CANCEL);
    ck_assert_str_eq(why, "the buyer \"changed\" \xe2\x80\xa6");

    ck_assert_int_eq(decode(UNPAID, slice_of(good[UNPAID])), REASON_NONE);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(out[0].order_no, "A_1");
    ck_assert_str_eq(out[1].order_no, "B-r9999");
    ck_assert_int_eq(out[1].wish, ORDER_WISH_EXPIRE);
}
END_TEST

/* Cut anywhere, and with any one byte changed to any other: never more than a refusal, or a message in range. */
START_TEST(cut_and_bent)
{
    size_t len = strlen(good[_i]);
    char *body = malloc(len); /* of exactly this size, so that the sanitizer sees a byte too many */

    for (size_t cut = 0; cut < len; cut++) {
        memcpy(body, good[_i], len);
        ck_assert_int_ne(decode((enum kind)_i, (struct slice){body, cut}), REASON_NONE);
    }
    for (size_t at = 0; at < len; at++) {
        for (int byte = 0; byte < 256; byte++) {
            memcpy(body, good[_i], len);
            body[at] = (char)byte;
            if (decode((enum kind)_i, (struct slice){body, len}) != REASON_NONE)
                continue;
            for (size_t i = 0; i < count; i++)
                ck_assert(order_no_valid(slice_of(out[i].order_no)));
            ck_assert(_i != PAID || (payment_ref_valid(slice_of(out[0].payment_ref)) && out[0].amount >= 0));
        }
    }
    free(body);
}
END_TEST

static void pad(struct strbuf *body, const char *head, size_t size)
{
    strbuf_add_str(body, head);
    strbuf_add_str(body, "\"pad\":\"");
    while (body->len < size - 2)
        strbuf_add_char(body, 'x');
    strbuf_add_str(body, "\"}");
}

/* Exactly the limit is taken, a byte more is not even looked into. */
START_TEST(too_large)
{
    static const char *const heads[] = {
        [PAID] = PAID_HEAD "\"amount\":1,\"paid_at\":1764400000123,",
        [CANCEL] = "{\"v\":1,\"order_no\":\"A_1\",\"reason\":\"x\",",
        [UNPAID] = "{\"v\":1,\"orders\":[\"A\"],",
    };
    size_t limit = _i == UNPAID ? ORDER_UNPAID_BODY_MAX : ORDER_BODY_MAX;
    struct strbuf body = STRBUF_INIT;

    pad(&body, heads[_i], limit);
    ck_assert_int_eq(decode((enum kind)_i, (struct slice){body.data, body.len}), REASON_NONE);
    strbuf_add_char(&body, ' ');
    ck_assert_int_eq(decode((enum kind)_i, (struct slice){body.data, body.len}), REASON_BODY_TOO_LARGE);
    strbuf_release(&body);
}
END_TEST

START_TEST(length_of_why)
{
    for (int len = ORDER_CANCEL_WHY_MAX; len <= ORDER_CANCEL_WHY_MAX + 1; len++) {
        struct strbuf body = STRBUF_INIT;

        strbuf_addf(&body, "{\"v\":1,\"order_no\":\"A\",\"reason\":\"%0*d\"}", len, 0);
        ck_assert_int_eq(decode(CANCEL, (struct slice){body.data, body.len}),
                         len == ORDER_CANCEL_WHY_MAX ? REASON_NONE : REASON_MEMBER_RANGE);
        strbuf_release(&body);
    }
}
END_TEST

/* As many orders as one message names, each as long as they get, pass the decoder; one more does not. */
START_TEST(unpaid_there_and_back)
{
    static char numbers[ORDER_LIST_MAX][ORDER_NO_MAX + 1];
    const char *list[ORDER_LIST_MAX];
    struct strbuf body = STRBUF_INIT;

    for (int i = 0; i < ORDER_LIST_MAX; i++) {
        snprintf(numbers[i], sizeof numbers[i], "N%027d-r9999", i);
        list[i] = numbers[i];
    }
    order_unpaid_encode(list, ORDER_LIST_MAX, &body);
    ck_assert_int_eq(decode(UNPAID, (struct slice){body.data, body.len}), REASON_NONE);
    ck_assert_uint_eq(count, ORDER_LIST_MAX);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(out[i].order_no, numbers[i]);
        ck_assert_int_eq(out[i].wish, ORDER_WISH_EXPIRE);
    }
    strbuf_cut(&body, body.len - 2);
    strbuf_add_str(&body, ",\"A\"]}");
    ck_assert_int_eq(decode(UNPAID, (struct slice){body.data, body.len}), REASON_MEMBER_RANGE);
    strbuf_release(&body);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("order_request");
    TCase *c = tcase_create("decode");

    tcase_add_loop_test(c, each_body_has_its_reason, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, values);
    tcase_add_loop_test(c, cut_and_bent, 0, UNPAID + 1);
    tcase_add_loop_test(c, too_large, 0, UNPAID + 1);
    tcase_add_test(c, length_of_why);
    tcase_add_test(c, unpaid_there_and_back);
    suite_add_tcase(s, c);
    return testing_main(s);
}
