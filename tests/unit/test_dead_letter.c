/* domain/message/dead_letter: what is read from a delivery's headers, and what is written for the local message. */
#include "testing.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/client/broker/broker_private.h"
#include "orderd/dead_letter.h"
#include "orderd/dead_letter_store.h"

/* ---- a delivery without a broker: the frames that one would have sent ---- */

#define ENTRIES_MAX 300

static amqp_table_entry_t entries[ENTRIES_MAX];
static int entry_count;

static amqp_table_entry_t *entry(struct slice name, uint8_t kind)
{
    amqp_table_entry_t *e = &entries[entry_count++];

    ck_assert_int_le(entry_count, ENTRIES_MAX);
    *e = (amqp_table_entry_t){.key = {name.len, (void *)(uintptr_t)name.ptr}, .value.kind = kind};
    return e;
}

static void add_bytes(struct slice name, struct slice value)
{
    entry(name, AMQP_FIELD_KIND_UTF8)->value.value.bytes = (amqp_bytes_t){value.len, (void *)(uintptr_t)value.ptr};
}

static void add(const char *name, const char *value)
{
    add_bytes(slice_of(name), slice_of(value));
}

static void add_number(const char *name, int64_t value)
{
    entry(slice_of(name), AMQP_FIELD_KIND_I64)->value.value.i64 = value;
}

static struct broker_delivery delivery_of(const char *message_id)
{
    static char encoded[1 << 20];
    struct broker b = {.failed = false};
    amqp_basic_deliver_t method = {.delivery_tag = 1};
    amqp_basic_properties_t p = {._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG,
                                 .headers = {entry_count, entries},
                                 .message_id = bytes_of_text(message_id)};
    amqp_frame_t frame = {.frame_type = AMQP_FRAME_HEADER};
    struct broker_delivery d;
    unsigned arrived = 0;
    int len = amqp_encode_properties(AMQP_BASIC_CLASS, &p, (amqp_bytes_t){sizeof encoded, encoded});

    ck_assert_int_gt(len, 0);
    frame.payload.properties.raw = (amqp_bytes_t){(size_t)len, encoded};
    inbox_reserve(&b.inbox, 1);
    ck_assert(message_deliver(&b, &method));
    ck_assert(message_header(&b, &frame, &arrived));
    ck_assert_uint_eq(arrived, 1);
    inbox_get(&b.inbox, &d);
    inbox_release(&b.inbox);
    entry_count = 0;
    return d;
}

/* ---- reading ---- */

static void attempt_absent(void)
{
}

static void attempt_of_3(void)
{
    add_number("orderd-attempt", 3);
}

static void attempt_short(void)
{
    entry(slice_of("orderd-attempt"), AMQP_FIELD_KIND_I16)->value.value.i16 = 2;
}

static void attempt_huge(void)
{
    add_number("orderd-attempt", INT64_MAX);
}

static void attempt_over(void)
{
    entry(slice_of("orderd-attempt"), AMQP_FIELD_KIND_U64)->value.value.u64 = UINT64_MAX;
}

static void attempt_negative(void)
{
    add_number("orderd-attempt", -3);
}

static void attempt_least(void)
{
    add_number("orderd-attempt", INT64_MIN);
}

static void attempt_text(void)
{
    add("orderd-attempt", "3");
}

static void attempt_flag(void)
{
    entry(slice_of("orderd-attempt"), AMQP_FIELD_KIND_BOOLEAN)->value.value.boolean = 1;
}

static void attempt_real(void)
{
    entry(slice_of("orderd-attempt"), AMQP_FIELD_KIND_F64)->value.value.f64 = 2.0;
}

static void attempt_table(void)
{
    entry(slice_of("orderd-attempt"), AMQP_FIELD_KIND_TABLE)->value.value.table = (amqp_table_t){0, NULL};
}

static void attempt_other_case(void)
{
    add_number("Orderd-Attempt", 3);
}

static const struct {
    void (*headers)(void);
    int64_t want;
} attempts[] = {
    {attempt_absent, 0},   {attempt_of_3, 3},  {attempt_short, 2}, {attempt_huge, INT64_MAX},
    {attempt_over, 0},     {attempt_text, 0},  {attempt_flag, 0},  {attempt_real, 0},
    {attempt_negative, 0}, {attempt_least, 0}, {attempt_table, 0}, {attempt_other_case, 0},
};

START_TEST(attempts_are_read)
{
    struct broker_delivery d;

    attempts[_i].headers();
    d = delivery_of("m");
    ck_assert_int_eq(dead_letter_attempt(&d), attempts[_i].want);
    broker_delivery_release(&d);
}
END_TEST

static const struct {
    const char *ours, *first_death, *last_death; /* NULL: absent */
    enum reason want;
} reasons[] = {
    {NULL, NULL, NULL, REASON_NONE},
    {"constraint", NULL, NULL, REASON_CONSTRAINT},
    {"no such reason", NULL, NULL, REASON_NONE},
    {"", NULL, NULL, REASON_NONE},
    {"a reason that is far longer than any that there is or will be", NULL, NULL, REASON_NONE},
    {NULL, "delivery_limit", NULL, REASON_DELIVERY_LIMIT},
    {NULL, "delivery_limit", "delivery_limit", REASON_DELIVERY_LIMIT},
    /* It had been in a retry queue and died of the delivery limit later: what happened last counts. (Our own publishes
     * leave the broker's headers behind, so where they stand, the broker came last.) */
    {"constraint", "expired", NULL, REASON_DELIVERY_LIMIT},
    {"constraint", "expired", "delivery_limit", REASON_DELIVERY_LIMIT},
    {"constraint", "delivery_limit", NULL, REASON_DELIVERY_LIMIT},
    {NULL, "expired", NULL, REASON_DELIVERY_LIMIT},
    /* somebody rejected it by hand, or it was pushed out */
    {NULL, "rejected", NULL, REASON_NONE},
    {"constraint", "rejected", NULL, REASON_NONE},
    {NULL, "expired", "rejected", REASON_NONE},
    {NULL, "maxlen", NULL, REASON_NONE},
};

START_TEST(reasons_are_read)
{
    struct broker_delivery d;

    if (reasons[_i].ours)
        add("orderd-reason", reasons[_i].ours);
    if (reasons[_i].first_death)
        add("x-first-death-reason", reasons[_i].first_death);
    if (reasons[_i].last_death)
        add("x-last-death-reason", reasons[_i].last_death);
    d = delivery_of("m");
    ck_assert_str_eq(reason_name(dead_letter_reason(&d)), reason_name(reasons[_i].want));
    broker_delivery_release(&d);
}
END_TEST

static const struct {
    const char *header, *want;
} traces[] = {
    {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "0af7651916cd43dd8448eb211c80319c"},
    {"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", "0af7651916cd43dd8448eb211c80319c"},
    {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0", ""},
    {"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", ""},
    {"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ""},
    {"", ""},
    {"-----------------------------------------------------------", ""},
};

START_TEST(trace_ids_are_read)
{
    struct broker_delivery d;

    add("traceparent", traces[_i].header);
    d = delivery_of("m");
    ck_assert(slice_is(dead_letter_trace_id(&d), traces[_i].want));
    broker_delivery_release(&d);
}
END_TEST

START_TEST(deliveries_are_read)
{
    struct broker_delivery d = delivery_of("m");

    ck_assert_int_eq(dead_letter_deliveries(&d), 0);
    broker_delivery_release(&d);
    add_number("x-delivery-count", 7);
    d = delivery_of("m");
    ck_assert_int_eq(dead_letter_deliveries(&d), 7);
    broker_delivery_release(&d);
    add("x-delivery-count", "9");
    add_number("x-acquired-count", 4);
    d = delivery_of("m");
    ck_assert_int_eq(dead_letter_deliveries(&d), 4);
    broker_delivery_release(&d);
}
END_TEST

/* ---- writing ---- */

static json_t *written(const struct broker_delivery *d, size_t *size)
{
    struct dead_letter letter = {.delivery = d,
                                 .reason = REASON_CONSTRAINT,
                                 .detail = "",
                                 .stage = "create",
                                 .origin = "order.create",
                                 .worker = "orderd@1 create.0",
                                 .attempt = 3};
    struct strbuf text = STRBUF_INIT;
    json_error_t error;
    json_t *root;

    dead_letter_headers(&letter, &text);
    root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    ck_assert_msg(json_is_object(root), "%s at %d", error.text, error.position);
    if (size)
        *size = text.len;
    strbuf_release(&text);
    return root;
}

static const char *text_of(json_t *root, const char *name)
{
    const char *text = json_string_value(json_object_get(root, name));

    return text ? text : "(absent)";
}

static void assert_ours(json_t *root)
{
    ck_assert_str_eq(text_of(root, "orderd-reason"), "constraint");
    ck_assert_str_eq(text_of(root, "orderd-detail"), reason_sentence(REASON_CONSTRAINT));
    ck_assert_str_eq(text_of(root, "orderd-stage"), "create");
    ck_assert_str_eq(text_of(root, "orderd-worker"), "orderd@1 create.0");
    ck_assert(json_is_integer(json_object_get(root, "orderd-attempt")));
    ck_assert_int_eq(json_integer_value(json_object_get(root, "orderd-attempt")), 3);
    ck_assert_uint_eq(strlen(text_of(root, "orderd-failed-at")), 24);
}

START_TEST(headers_are_kept_and_ours_added)
{
    struct broker_delivery d;
    json_t *root;

    add("traceparent", traces[0].header);
    add_number("tenant", -5);
    add("x-death", "no");
    add("X-Delivery-Count", "no");
    add("orderd-reason", "stock_short");
    add("orderd-worker", "somebody");
    add("orderd-origin", "order.first");
    add("orderd-first-failed-at", "2020-01-01T00:00:00.000Z");
    add("orderd-failed-at", "2020-01-02T00:00:00.000Z");
    add_number("orderd-attempt", 2);
    d = delivery_of("the-id");
    root = written(&d, NULL);
    assert_ours(root);
    ck_assert_str_eq(text_of(root, "traceparent"), traces[0].header);
    ck_assert_int_eq(json_integer_value(json_object_get(root, "tenant")), -5);
    ck_assert_str_eq(text_of(root, "orderd-origin"), "order.first");
    ck_assert_str_eq(text_of(root, "orderd-first-failed-at"), "2020-01-01T00:00:00.000Z");
    ck_assert_str_eq(text_of(root, "message-id"), "the-id");
    ck_assert(!json_object_get(root, "x-death") && !json_object_get(root, "X-Delivery-Count"));
    json_decref(root);
    broker_delivery_release(&d);
}
END_TEST

START_TEST(without_any_header)
{
    struct broker_delivery d = delivery_of("");
    json_t *root = written(&d, NULL);

    assert_ours(root);
    ck_assert_str_eq(text_of(root, "orderd-origin"), "order.create");
    ck_assert_str_eq(text_of(root, "orderd-first-failed-at"), text_of(root, "orderd-failed-at"));
    ck_assert(!json_object_get(root, "message-id"));
    json_decref(root);
    broker_delivery_release(&d);
}
END_TEST

/* As many headers as are shown, and ours are still there: first of all, so that no limit further on cuts them off. */
START_TEST(ours_come_first)
{
    static char names[ENTRIES_MAX][8];
    struct broker_delivery d;
    json_t *root;
    void *at;

    for (int i = 0; i < ENTRIES_MAX; i++) {
        snprintf(names[i], sizeof names[i], "h%d", i);
        add(names[i], "v");
    }
    d = delivery_of("m");
    root = written(&d, NULL);
    assert_ours(root);
    ck_assert_str_eq(text_of(root, "h0"), "v");
    ck_assert_str_eq(text_of(root, "h255"), "v");
    at = json_object_iter(root);
    for (int i = 0; i < 8; i++, at = json_object_iter_next(root, at))
        ck_assert_msg(strncmp(json_object_iter_key(at), "orderd-", 7) == 0, "%s stands before ours",
                      json_object_iter_key(at));
    json_decref(root);
    broker_delivery_release(&d);
}
END_TEST

/* Bytes that no JSON text and no utf8mb4 column can hold. */
START_TEST(foreign_bytes_do_no_harm)
{
    struct broker_delivery d;
    json_t *root;

    add_bytes((struct slice){"nul", 3}, (struct slice){"a\0b", 3});
    add_bytes((struct slice){"n\0l", 3}, slice_of("v"));
    add_bytes((struct slice){"", 0}, slice_of("no name"));
    add_bytes(slice_of("\xff\xfe"), slice_of("v"));
    add_bytes(slice_of("\xfe\xff"), slice_of("would be called like the one before"));
    add_bytes(slice_of("bad"), slice_of("\xc3\x28 \xed\xa0\x80 \xf0\x9f\x98\x80"));
    add("quote\"\\", "\"\\\n\x01");
    add("message-id", "of a header");
    add("content-type", "of a header");
    add("twice", "first");
    add("twice", "second");
    d = delivery_of("of the message");
    root = written(&d, NULL); /* parses, without a name twice */
    assert_ours(root);
    ck_assert_str_eq(text_of(root, "message-id"), "of the message");
    ck_assert_str_eq(text_of(root, "quote\"\\"), "\"\\\n\x01");
    ck_assert_str_eq(text_of(root, "twice"), "first");
    ck_assert_ptr_nonnull(strstr(text_of(root, "bad"), "\xf0\x9f\x98\x80"));
    ck_assert_uint_eq(json_string_length(json_object_get(root, "nul")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(root, "orderd-headers-left-out")), 6);
    json_decref(root);
    broker_delivery_release(&d);
}
END_TEST

/* As much as one frame can carry: what does not fit beside ours is left behind, and that is said. */
START_TEST(large_headers_leave_room_for_ours)
{
    char *value = malloc(40000);
    struct broker_delivery d;
    json_t *root;
    size_t size;

    memset(value, 1, 40000); /* six bytes each in JSON */
    add_bytes(slice_of("one"), (struct slice){value, 40000});
    add_bytes(slice_of("two"), (struct slice){value, 40000});
    add_bytes(slice_of("three"), (struct slice){value, 40000});
    add("traceparent", traces[0].header);
    d = delivery_of("m");
    root = written(&d, &size);
    assert_ours(root);
    ck_assert_uint_lt(size, 1000000);
    ck_assert_uint_eq(json_string_length(json_object_get(root, "one")), 40000);
    ck_assert_uint_eq(json_string_length(json_object_get(root, "two")), 40000);
    ck_assert(!json_object_get(root, "three"));
    ck_assert_str_eq(text_of(root, "traceparent"), traces[0].header);
    ck_assert_int_eq(json_integer_value(json_object_get(root, "orderd-headers-left-out")), 1);
    json_decref(root);
    broker_delivery_release(&d);
    free(value);
}
END_TEST

/* ---- a letter whose row is there ---- */

static const struct {
    enum dead_letter_state state;
    int64_t row_died_at, died_at;
    bool redelivered;
    enum dead_letter_taken taken;
} judged[] = {
    {DEAD_LETTER_OPEN, 5, 5, false, DEAD_LETTER_KNOWN},     {DEAD_LETTER_OPEN, 5, 4, true, DEAD_LETTER_KNOWN},
    {DEAD_LETTER_OPEN, 5, 6, true, DEAD_LETTER_AGAIN},      {DEAD_LETTER_REPLAYED, 5, 5, true, DEAD_LETTER_KNOWN},
    {DEAD_LETTER_REPLAYED, 5, 6, false, DEAD_LETTER_AGAIN}, {DEAD_LETTER_OPEN, 0, 0, true, DEAD_LETTER_KNOWN},
    {DEAD_LETTER_OPEN, 0, 0, false, DEAD_LETTER_AGAIN},     {DEAD_LETTER_OPEN, 5, 0, true, DEAD_LETTER_KNOWN},
    {DEAD_LETTER_OPEN, 0, 5, false, DEAD_LETTER_AGAIN},     {DEAD_LETTER_REPLAYED, 0, 0, true, DEAD_LETTER_AGAIN},
    {DEAD_LETTER_RESOLVED, 5, 0, true, DEAD_LETTER_AGAIN},  {DEAD_LETTER_DISCARDED, 0, 5, true, DEAD_LETTER_AGAIN},
};

START_TEST(another_death_is_told_from_a_redelivery)
{
    ck_assert_int_eq(
        dead_letter_judge(judged[_i].state, judged[_i].row_died_at, judged[_i].died_at, judged[_i].redelivered),
        judged[_i].taken);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dead_letter");
    TCase *c = tcase_create("headers");

    tcase_add_loop_test(c, attempts_are_read, 0, (int)(sizeof attempts / sizeof *attempts));
    tcase_add_loop_test(c, reasons_are_read, 0, (int)(sizeof reasons / sizeof *reasons));
    tcase_add_loop_test(c, trace_ids_are_read, 0, (int)(sizeof traces / sizeof *traces));
    tcase_add_test(c, deliveries_are_read);
    tcase_add_test(c, headers_are_kept_and_ours_added);
    tcase_add_test(c, without_any_header);
    tcase_add_test(c, ours_come_first);
    tcase_add_test(c, foreign_bytes_do_no_harm);
    tcase_add_test(c, large_headers_leave_room_for_ours);
    tcase_add_loop_test(c, another_death_is_told_from_a_redelivery, 0, (int)(sizeof judged / sizeof *judged));
    suite_add_tcase(s, c);
    return testing_main(s);
}
