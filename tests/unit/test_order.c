/* The order decoder: a reason for every refusal. */
#include "testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/order.h"

#define HEAD                                                                                                           \
    "{\"v\":1,\"order_no\":\"1812345678901234567\",\"activity_id\":1001,\"user_id\":42,\"user_seq\":0,\"sku_id\":77,"
#define TAIL "\"quantity\":1,\"amount\":9900,\"shard\":0,\"epoch\":1,\"reserved_at\":1764400000123}"
#define GOOD HEAD TAIL

static const struct {
    const char *body;
    enum reason reason;
} cases[] = {
    {GOOD, REASON_NONE},
    {" \n" GOOD " \r\n\t", REASON_NONE},
    {HEAD "\"note\":{\"deep\":[1,2,{\"x\":null}]},\"coupon\":1.5," TAIL, REASON_NONE}, /* members not ours */
    {HEAD "\"title\":\"\xe7\xa7\x92\xe6\x9d\x80\"," TAIL, REASON_NONE},
    {"", REASON_BODY_NOT_JSON},
    {" ", REASON_BODY_NOT_JSON},
    {"null", REASON_BODY_NOT_JSON},
    {"[1]", REASON_BODY_NOT_JSON},
    {"\"text\"", REASON_BODY_NOT_JSON},
    {"{", REASON_BODY_NOT_JSON},
    {"{}", REASON_MEMBER_MISSING},
    {GOOD "x", REASON_BODY_NOT_JSON},
    {GOOD GOOD, REASON_BODY_NOT_JSON},
    {GOOD ",", REASON_BODY_NOT_JSON},
    {HEAD "\"bad\":\"\xff\"," TAIL, REASON_BODY_NOT_JSON},
    {HEAD "\"bad\":\"\xc0\xaf\"," TAIL, REASON_BODY_NOT_JSON},
    {HEAD "\"bad\":\"\xed\xa0\x80\"," TAIL, REASON_BODY_NOT_JSON},
    {HEAD "\"bad\":\"\\u0000\"," TAIL, REASON_BODY_NOT_JSON},
    {HEAD "\"bad\":\"\\ud800\"," TAIL, REASON_BODY_NOT_JSON},
    {HEAD "\"bad\":01," TAIL, REASON_BODY_NOT_JSON},
    {HEAD "'bad':1," TAIL, REASON_BODY_NOT_JSON},
    {HEAD "\"quantity\":2," TAIL, REASON_MEMBER_DUPLICATE},
    {HEAD "\"note\":{\"a\":1,\"a\":2}," TAIL, REASON_MEMBER_DUPLICATE},
    {"{\"v\":2,\"order_no\":\"1\"}", REASON_VERSION_UNKNOWN},
    {"{\"v\":\"1\",\"order_no\":\"1\"}", REASON_MEMBER_TYPE},
    {"{\"v\":1}", REASON_MEMBER_MISSING},
    {"{\"v\":1,\"order_no\":1812345678901234567}", REASON_MEMBER_TYPE},
    {"{\"v\":1,\"order_no\":\"a b\"}", REASON_ORDER_NO_INVALID},
    {"{\"v\":1,\"order_no\":\"1' OR '1'='1\"}", REASON_ORDER_NO_INVALID},
};

START_TEST(decode)
{
    struct order o;
    char detail[200];
    enum reason reason = order_decode(slice_of(cases[_i].body), &o, detail, sizeof detail);

    ck_assert_msg(reason == cases[_i].reason, "%s: %s (%s)", cases[_i].body, reason_name(reason), detail);
    ck_assert_msg((detail[0] != '\0') == (reason != REASON_NONE), "a refusal says why: %s", cases[_i].body);
}
END_TEST

START_TEST(decode_values)
{
    struct order o;
    char detail[200];

    ck_assert_int_eq(order_decode(slice_of(GOOD), &o, detail, sizeof detail), REASON_NONE);
    ck_assert_str_eq(o.order_no, "1812345678901234567");
    ck_assert_int_eq(o.activity_id, 1001);
    ck_assert_int_eq(o.user_id, 42);
    ck_assert_int_eq(o.user_seq, 0);
    ck_assert_int_eq(o.sku_id, 77);
    ck_assert_int_eq(o.quantity, 1);
    ck_assert_int_eq(o.amount, 9900);
    ck_assert_int_eq(o.shard, 0);
    ck_assert_int_eq(o.epoch, 1);
    ck_assert_int_eq(o.reserved_at, INT64_C(1764400000123));
}
END_TEST

/* Each integer member, replaced by `value` in a good message. */
static const struct {
    const char *member, *value;
    enum reason reason;
} members[] = {
    {"activity_id", "0", REASON_MEMBER_RANGE},
    {"activity_id", "-1", REASON_MEMBER_RANGE},
    {"activity_id", "9223372036854775807", REASON_NONE},
    {"activity_id", "9223372036854775808", REASON_BODY_NOT_JSON}, /* over 64 bits: jansson refuses the text */
    {"activity_id", "1.0", REASON_MEMBER_TYPE},
    {"activity_id", "1e3", REASON_MEMBER_TYPE},
    {"activity_id", "\"1001\"", REASON_MEMBER_TYPE},
    {"activity_id", "null", REASON_MEMBER_TYPE},
    {"activity_id", "true", REASON_MEMBER_TYPE},
    {"activity_id", "[1001]", REASON_MEMBER_TYPE},
    {"activity_id", "{}", REASON_MEMBER_TYPE},
    {"user_id", "0", REASON_MEMBER_RANGE},
    {"user_id", "9007199254740993", REASON_NONE}, /* 2^53 + 1 */
    {"user_seq", "-1", REASON_MEMBER_RANGE},
    {"user_seq", "9999", REASON_NONE},
    {"user_seq", "10000", REASON_MEMBER_RANGE},
    {"sku_id", "0", REASON_MEMBER_RANGE},
    {"quantity", "0", REASON_MEMBER_RANGE},
    {"quantity", "-5", REASON_MEMBER_RANGE},
    {"quantity", "100000", REASON_NONE},
    {"quantity", "100001", REASON_MEMBER_RANGE},
    {"quantity", "4294967297", REASON_MEMBER_RANGE},
    {"amount", "-1", REASON_MEMBER_RANGE},
    {"amount", "0", REASON_NONE},
    {"amount", "99.00", REASON_MEMBER_TYPE}, /* money is never a float */
    {"amount", "1000000000000000", REASON_MEMBER_RANGE},
    {"shard", "-1", REASON_MEMBER_RANGE},
    {"shard", "1024", REASON_MEMBER_RANGE},
    {"epoch", "0", REASON_MEMBER_RANGE},
    {"epoch", "1000000000", REASON_MEMBER_RANGE},
    {"reserved_at", "1764400000", REASON_MEMBER_RANGE}, /* seconds, not milliseconds */
    {"reserved_at", "99999999999999", REASON_MEMBER_RANGE},
};

static const struct {
    const char *name, *value;
} good_members[] = {
    {"activity_id", "1001"}, {"user_id", "42"}, {"user_seq", "0"},
    {"sku_id", "77"},        {"quantity", "1"}, {"amount", "9900"},
    {"shard", "0"},          {"epoch", "1"},    {"reserved_at", "1764400000123"},
};

static void build(struct strbuf *out, const char *member, const char *value)
{
    strbuf_add_str(out, "{\"v\":1,\"order_no\":\"A_1\"");
    for (size_t i = 0; i < sizeof good_members / sizeof *good_members; i++) {
        bool this_one = strcmp(good_members[i].name, member) == 0;

        if (!this_one || value)
            strbuf_addf(out, ",\"%s\":%s", good_members[i].name, this_one ? value : good_members[i].value);
    }
    strbuf_add_char(out, '}');
}

START_TEST(decode_member)
{
    struct strbuf body = STRBUF_INIT;
    struct order o;
    char detail[200];
    enum reason reason;

    build(&body, members[_i].member, members[_i].value);
    reason = order_decode((struct slice){body.data, body.len}, &o, detail, sizeof detail);
    ck_assert_msg(reason == members[_i].reason, "%s: %s (%s)", body.data, reason_name(reason), detail);
    if (reason == REASON_MEMBER_RANGE || reason == REASON_MEMBER_TYPE)
        ck_assert_msg(strstr(detail, members[_i].member) != NULL, "names the member: %s", detail);
    strbuf_release(&body);
}
END_TEST

START_TEST(decode_missing_member)
{
    struct strbuf body = STRBUF_INIT;
    struct order o;
    char detail[200];

    build(&body, good_members[_i].name, NULL);
    ck_assert_int_eq(order_decode((struct slice){body.data, body.len}, &o, detail, sizeof detail),
                     REASON_MEMBER_MISSING);
    ck_assert_msg(strstr(detail, good_members[_i].name) != NULL, "names the member: %s", detail);
    strbuf_release(&body);
}
END_TEST

START_TEST(decode_size_limit)
{
    struct strbuf body = STRBUF_INIT;
    struct order o;
    char detail[200];

    strbuf_add_str(&body, GOOD);
    while (body.len < ORDER_BODY_MAX)
        strbuf_add_char(&body, ' ');
    ck_assert_int_eq(order_decode((struct slice){body.data, body.len}, &o, detail, sizeof detail), REASON_NONE);
    strbuf_add_char(&body, ' ');
    ck_assert_int_eq(order_decode((struct slice){body.data, body.len}, &o, detail, sizeof detail),
                     REASON_BODY_TOO_LARGE);
    strbuf_release(&body);
}
END_TEST

START_TEST(decode_nesting_bomb)
{
    struct strbuf body = STRBUF_INIT;
    struct order o;
    char detail[200];

    strbuf_add_str(&body, "{\"v\":1,\"x\":");
    for (int i = 0; i < 8000; i++)
        strbuf_add_char(&body, '[');
    for (int i = 0; i < 8000; i++)
        strbuf_add_char(&body, ']');
    strbuf_add_char(&body, '}');
    ck_assert_int_eq(order_decode((struct slice){body.data, body.len}, &o, detail, sizeof detail),
                     REASON_BODY_NOT_JSON);
    strbuf_release(&body);
}
END_TEST

/* Every prefix of a good message, and every single byte changed: never a crash, and a prefix is never an order. */
START_TEST(decode_mutations)
{
    char body[sizeof GOOD], detail[200];
    struct order o;
    size_t len = sizeof GOOD - 1;

    for (size_t i = 0; i < len; i++)
        ck_assert_int_ne(order_decode((struct slice){GOOD, i}, &o, detail, sizeof detail), REASON_NONE);
    for (size_t i = 0; i < len; i++) {
        for (int c = 0; c < 256; c++) {
            memcpy(body, GOOD, len);
            body[i] = (char)c;
            (void)order_decode((struct slice){body, len}, &o, detail, sizeof detail);
        }
    }
}
END_TEST

/* A member that is not ours changes nothing but the way that the decoder takes: what it reads at one go must be what
 * the JSON library reads. */
static void assert_both_ways(struct slice body)
{
    struct strbuf other = STRBUF_INIT;
    struct order a = {0}, b = {0};
    char detail[200];
    enum reason reason = order_decode(body, &a, detail, sizeof detail);

    if (body.len == 0 || body.ptr[0] != '{')
        return;
    strbuf_add_str(&other, "{\"not_one_of_ours\":null,");
    strbuf_add(&other, body.ptr + 1, body.len - 1);
    ck_assert_msg(order_decode((struct slice){other.data, other.len}, &b, detail, sizeof detail) == reason,
                  "%s: %s, and not %s", other.data, reason_name(reason), detail);
    ck_assert(reason != REASON_NONE || memcmp(&a, &b, sizeof a) == 0);
    strbuf_release(&other);
}

static void assert_changed(size_t at, size_t without, struct slice more)
{
    struct strbuf body = STRBUF_INIT;

    strbuf_add(&body, GOOD, at);
    strbuf_add(&body, more.ptr, more.len);
    strbuf_add(&body, &GOOD[at + without], sizeof GOOD - 1 - at - without);
    assert_both_ways((struct slice){body.data, body.len});
    strbuf_release(&body);
}

START_TEST(decode_both_ways)
{
    static const struct slice more[] = {
#define X(text) {text, sizeof text - 1}
        X(""),     X(" "),        X("\t\r\n"),   X("\0"),
        X("\v"),   X("\""),       X("\\"),       X("0"),
        X("-"),    X("+"),        X("."),        X(".0"),
        X("e1"),   X("1"),        X("99999999"), X("999999999999999999"),
        X(","),    X(":"),        X("{"),        X("}"),
        X("[]"),   X("\xc3\xa4"), X("\xff"),     X("\"v\":1,"),
        X("/**/"), X("\\u0030"),  X("true"),     X(",\"shard\":0"),
#undef X
    };

    for (size_t at = 0; at < sizeof GOOD; at++) {
        for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
            assert_changed(at, 0, more[i]);
            if (at + 1 < sizeof GOOD)
                assert_changed(at, 1, more[i]);
        }
    }
}
END_TEST

START_TEST(encode_round_trip)
{
    struct strbuf body = STRBUF_INIT;
    struct order in, out;
    char detail[200];

    ck_assert_int_eq(order_decode(slice_of(GOOD), &in, detail, sizeof detail), REASON_NONE);
    order_encode(&in, &body);
    ck_assert_int_eq(order_decode((struct slice){body.data, body.len}, &out, detail, sizeof detail), REASON_NONE);
    ck_assert_str_eq(in.order_no, out.order_no);
    ck_assert(order_same_content(&in, &out));
    ck_assert_int_eq(in.reserved_at, out.reserved_at);
    ck_assert_int_eq(in.epoch, out.epoch);
    strbuf_release(&body);
}
END_TEST

START_TEST(differences)
{
    struct order a, b;
    char detail[200], text[400], cut[16];

    ck_assert_int_eq(order_decode(slice_of(GOOD), &a, detail, sizeof detail), REASON_NONE);
    b = a;
    b.epoch++;
    b.reserved_at++;
    order_differences(&a, "the message", &b, "the row", true, text, sizeof text);
    ck_assert_str_eq(text, "");
    a.quantity = 2;
    b.quantity = 1;
    a.amount = INT64_C(19800);
    b.amount = INT64_C(9900);
    b.shard = a.shard + 1;
    order_differences(&a, "the message", &b, "the row", false, text, sizeof text);
    ck_assert_str_eq(text, "quantity is 2 in the message and 1 in the row, amount is 19800 in the message and 9900 in "
                           "the row");
    b = a;
    a.shard = 3;
    b.shard = 4;
    b.user_seq = a.user_seq + 1;
    order_differences(&a, "Redis", &b, "the row", true, text, sizeof text);
    ck_assert_ptr_eq(strstr(text, "shard is 3 in Redis and 4 in the row, user_seq is "), text);
    order_differences(&a, "Redis", &b, "the row", true, cut, sizeof cut);
    ck_assert_str_eq(cut, "shard is 3 in R");
}
END_TEST

static const struct {
    const char *text;
    bool valid;
} numbers[] = {
    {"1", true},
    {"1812345678901234567", true},
    {"abcXYZ_019", true},
    {"1234567890123456789012345678", true},
    {"12345678901234567890123456789", false},
    {"", false},
    {"-r1", false},
    {"A-r1", true},
    {"A-r9999", true},
    {"1234567890123456789012345678-r9999", true},
    {"A-r10000", false},
    {"A-r0", false},
    {"A-r01", false},
    {"A-r", false},
    {"A-r1-r2", false},
    {"A-R1", false},
    {"a.b", false},
    {"a\xc3\xa9", false},
    {"a'b", false},
};

START_TEST(number_alphabet)
{
    ck_assert_int_eq(order_no_valid(slice_of(numbers[_i].text)), numbers[_i].valid);
}
END_TEST

/* Each is followed by the next; "" is no number. */
static const char *const purchase[][3] = {
    {"", "A", "A-r1"},
    {"A", "A-r1", "A-r2"},
    {"A-r8", "A-r9", "A-r10"},
    {"A-r9998", "A-r9999", ""},
    {"1234567890123456789012345678-r9997", "1234567890123456789012345678-r9998", "1234567890123456789012345678-r9999"},
};

START_TEST(number_before_and_after)
{
    const char *const *p = purchase[_i];
    char before[ORDER_NO_MAX + 1], after[ORDER_NO_MAX + 1];

    ck_assert_int_eq(order_no_before(p[1], before), p[0][0] != '\0');
    ck_assert_int_eq(order_no_after(p[1], after), p[2][0] != '\0');
    ck_assert_str_eq(before, p[0]);
    ck_assert_str_eq(after, p[2]);
}
END_TEST

START_TEST(number_with_nul)
{
    ck_assert(!order_no_valid((struct slice){"a\0b", 3}));
}
END_TEST

START_TEST(checked_numbers_are_themselves)
{
    const char *no = "A-r1";

    ck_assert_ptr_eq(order_no_checked(no), no);
}
END_TEST

/* What would end a literal of SQL, or be none of our numbers: the process ends before a statement is sent. */
static const char *const no_numbers[] = {"", "x' OR 1=1 -- ", "a\\", "\xbf'", "A-r0", "01234567890123456789012345678"};

START_TEST(unchecked_bytes_end_the_process)
{
    (void)order_no_checked(no_numbers[_i]);
}
END_TEST

START_TEST(reasons_are_distinct)
{
    for (int i = 1; i < REASON_COUNT; i++) {
        ck_assert_int_eq(reason_of_name(reason_name((enum reason)i)), i);
        ck_assert_uint_gt(strlen(reason_sentence((enum reason)i)), 0);
        ck_assert_int_ne(reason_what((enum reason)i), REASON_WHAT_NONE);
    }
    ck_assert_int_eq(reason_of_name("no such reason"), REASON_NONE);
}
END_TEST

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

int main(void)
{
    Suite *s = suite_create("order");
    TCase *c = tcase_create("decode");

    tcase_add_loop_test(c, decode, 0, COUNT(cases));
    tcase_add_loop_test(c, decode_member, 0, COUNT(members));
    tcase_add_loop_test(c, decode_missing_member, 0, COUNT(good_members));
    tcase_add_loop_test(c, number_alphabet, 0, COUNT(numbers));
    tcase_add_loop_test(c, number_before_and_after, 0, (int)(sizeof purchase / sizeof *purchase));
    tcase_add_test(c, decode_values);
    tcase_add_test(c, decode_size_limit);
    tcase_add_test(c, decode_nesting_bomb);
    tcase_add_test(c, decode_mutations);
    tcase_add_test(c, decode_both_ways);
    tcase_add_test(c, encode_round_trip);
    tcase_add_test(c, differences);
    tcase_add_test(c, number_with_nul);
    tcase_add_test(c, checked_numbers_are_themselves);
    tcase_add_loop_test_raise_signal(c, unchecked_bytes_end_the_process, SIGABRT, 0,
                                     (int)(sizeof no_numbers / sizeof *no_numbers));
    tcase_add_test(c, reasons_are_distinct);
    suite_add_tcase(s, c);
    return testing_main(s);
}
