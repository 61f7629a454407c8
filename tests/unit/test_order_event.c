/* domain/order: what is told on order.event, to the letter, and the local message that tells it. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "orderd/order_event.h"
#include "testing_schema.h"

static const struct order sample = {
    .order_no = "1812345678901234567",
    .activity_id = INT64_MAX,
    .user_id = 9007199254740993,
    .sku_id = 77,
    .quantity = 2,
    .amount = 19800,
    .user_seq = 3,
    .shard = 4,
    .epoch = 5,
};
static const struct order other = {.order_no = "B-r1", .activity_id = 1, .user_id = 2, .sku_id = 3, .quantity = 4};

#define SAMPLE                                                                                                         \
    "{\"order_no\":\"1812345678901234567\",\"activity_id\":9223372036854775807,\"user_id\":9007199254740993,"          \
    "\"sku_id\":77,\"quantity\":2,\"amount\":19800"
#define OTHER "{\"order_no\":\"B-r1\",\"activity_id\":1,\"user_id\":2,\"sku_id\":3,\"quantity\":4,\"amount\":0"

static const struct {
    enum order_event event;
    struct order_event_entry entries[2];
    size_t count;
    const char *text;
} cases[] = {
    {ORDER_EVENT_CREATED,
     {{.order = &sample, .expires_at = 1764400900123}, {.order = &other}},
     2,
     "{\"v\":1,\"event\":\"order.created\",\"at\":1764400000123,\"orders\":[" SAMPLE
     ",\"expires_at\":1764400900123}," OTHER "}]}"},
    {ORDER_EVENT_REJECTED,
     {{.order = &sample, .reason = REASON_CONSTRAINT}},
     1,
     "{\"v\":1,\"event\":\"order.rejected\",\"at\":1764400000123,\"orders\":[" SAMPLE ",\"reason\":\"constraint\"}]}"},
    {ORDER_EVENT_PAID,
     {{.order = &sample, .payment_ref = "p\"\\\x01", .payment_amount = 19800}},
     1,
     "{\"v\":1,\"event\":\"order.paid\",\"at\":1764400000123,\"orders\":[" SAMPLE
     ",\"payment_ref\":\"p\\\"\\\\\\u0001\",\"payment_amount\":19800}]}"},
};

START_TEST(to_the_letter)
{
    struct strbuf text = STRBUF_INIT;

    order_event_encode(cases[_i].event, cases[_i].entries, cases[_i].count, 1764400000123, &text);
    ck_assert_str_eq(text.data, cases[_i].text);
    strbuf_release(&text);
}
END_TEST

/* Each event is a topic that the relay tells, and none of them is taken for a message of the same name. */
START_TEST(each_has_its_topic)
{
    static const struct order_event_entry entry = {.order = &other, .payment_ref = "ref"};

    for (int e = 0; e < ORDER_EVENT_COUNT; e++) {
        const char *name = order_event_name((enum order_event)e);
        struct local_messages list;
        char topic[100], key[100];

        snprintf(topic, sizeof topic, "event.%s", name);
        snprintf(key, sizeof key, "event.%s:%s", name, e == ORDER_EVENT_REFUND_DUE ? "ref" : "B-r1");
        local_messages_init(&list);
        order_event_add(&list, (enum order_event)e, &entry, 1, 1, "owner");
        ck_assert_uint_eq(list.count, 1);
        ck_assert(slice_is(list.first->topic, topic) && slice_is(list.first->key, key));
        ck_assert_str_eq(list.first->owner, "owner");
        ck_assert(memmem(list.first->payload.ptr, list.first->payload.len, name, strlen(name)) != NULL);
        ck_assert_int_eq(effect_of_topic(list.first->topic), EFFECT_PUBLISH_EVENT);
        if (e != ORDER_EVENT_REJECTED) /* whose rows were called so once */
            ck_assert_int_ne(effect_of_topic(slice_of(name)), EFFECT_PUBLISH_EVENT);
        local_messages_free(&list);
    }
}
END_TEST

static const struct {
    const char *topic;
    enum effect_kind kind;
} topics[] = {
    {"order.unpaid", EFFECT_PUBLISH_ORDER},
    {"order.unpaid.1", EFFECT_PUBLISH_ORDER},
    {"order.unpaid.900000", EFFECT_PUBLISH_ORDER},
    {"order.unpaid.2592000000", EFFECT_PUBLISH_ORDER},
    {"order.unpaid.", EFFECT_UNKNOWN},
    {"order.unpaid.*", EFFECT_UNKNOWN},
    {"order.unpaid.1x", EFFECT_UNKNOWN},
    {"order.unpaid.-1", EFFECT_UNKNOWN},
    {"order.unpaid.12345678901", EFFECT_UNKNOWN},
    {"order.unpaid.1.2", EFFECT_UNKNOWN},
    {"order.create.5", EFFECT_UNKNOWN},
    {"stock.settle", EFFECT_STOCK_SETTLE},
    {"order.rejected", EFFECT_PUBLISH_EVENT},
    {"", EFFECT_UNKNOWN},
};

START_TEST(topics_with_a_number)
{
    ck_assert_int_eq(effect_of_topic(slice_of(topics[_i].topic)), topics[_i].kind);
}
END_TEST

/* ---- the published schema ---- */

static const struct {
    const char *body;
    bool good, strict;
} documents[] = {
#define ORDER               "{\"order_no\":\"A\",\"activity_id\":1,\"user_id\":2,\"sku_id\":3,\"quantity\":1,\"amount\":0"
#define EVENT(event, order) "{\"v\":1,\"event\":\"" event "\",\"at\":1764400900417,\"orders\":[" order "]}"
    {EVENT("order.created", ORDER ",\"expires_at\":1764400900417}"), true, true},
    {EVENT("order.closed", ORDER ",\"reason\":\"unpaid\"}"), true, true},
    {EVENT("order.closed", ORDER ",\"reason\":\"unpaid\"}," ORDER ",\"reason\":\"unpaid\"}"), true, true},
    {EVENT("order.refund_due", ORDER ",\"reason\":\"refund_second\",\"payment_ref\":\"r\",\"payment_amount\":1}"), true,
     true},
    {EVENT("order.closed", ORDER ",\"reason\":\"unpaid\",\"more\":1}"), true, false},
    {EVENT("order.closed", ORDER "}"), false, true},
    {EVENT("order.closed", ORDER ",\"reason\":1}"), false, true},
    {EVENT("order.closed", ORDER ",\"reason\":\"Not paid!\"}"), false, true},
    {EVENT("order.closed", ""), false, true},
    {EVENT("order.created", ORDER "}"), false, true},
    {EVENT("order.created", ORDER ",\"expires_at\":1764400900}"), false, true}, /* seconds */
    {EVENT("order.paid", ORDER ",\"reason\":\"paid\"}"), false, true},
    {EVENT("order.lost", ORDER ",\"reason\":\"unpaid\"}"), false, true},
    {EVENT("order.refund_due", ORDER ",\"reason\":\"refund_second\",\"payment_ref\":\"r\",\"payment_amount\":1}," ORDER
                                     ",\"reason\":\"refund_second\",\"payment_ref\":\"s\",\"payment_amount\":1}"),
     false, true},
    {"{\"v\":2,\"event\":\"order.closed\",\"at\":1764400900417,\"orders\":[" ORDER ",\"reason\":\"unpaid\"}]}", false,
     true},
    {"[]", false, true},
};

/* It takes what it should and nothing else, so that it can judge real events (flow_events). */
START_TEST(schema_judges)
{
    json_t *schema = testing_schema_load("docs/order-event.schema.json");
    json_t *value = json_loads(documents[_i].body, 0, NULL);
    char why[300];
    bool ok;

    ck_assert_msg(value != NULL, "%s", documents[_i].body);
    ok = testing_schema_check(schema, value, documents[_i].strict, why, sizeof why);
    ck_assert_msg(ok == documents[_i].good, "%s: %s", documents[_i].body, why);
    if (!documents[_i].strict)
        ck_assert(!testing_schema_check(schema, value, true, why, sizeof why));
    json_decref(value);
    json_decref(schema);
}
END_TEST

/* Schema and manual know the events of the table, and the schema knows no others. */
START_TEST(described)
{
    json_t *schema = testing_schema_load("docs/order-event.schema.json"), *name;
    const json_t *names = json_object_get(json_object_get(json_object_get(schema, "properties"), "event"), "enum");
    char path[512], line[1000], row[60];
    size_t i;

    ck_assert_uint_eq(json_array_size(names), ORDER_EVENT_COUNT);
    snprintf(path, sizeof path, "%s/docs/events.md", testing_env("ORDERD_SOURCE"));
    json_array_foreach((json_t *)names, i, name)
    {
        FILE *f = fopen(path, "r");
        bool found = false;

        ck_assert(f != NULL);
        ck_assert_str_eq(json_string_value(name), order_event_name((enum order_event)i));
        snprintf(row, sizeof row, "| `%s` |", json_string_value(name));
        while (fgets(line, sizeof line, f))
            found = found || strncmp(line, row, strlen(row)) == 0;
        ck_assert_msg(found, "docs/events.md has no row %s", row);
        fclose(f);
    }
    json_decref(schema);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("order_event");
    TCase *c = tcase_create("event");

    tcase_add_loop_test(c, to_the_letter, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, each_has_its_topic);
    tcase_add_loop_test(c, schema_judges, 0, (int)(sizeof documents / sizeof *documents));
    tcase_add_test(c, described);
    tcase_add_loop_test(c, topics_with_a_number, 0, (int)(sizeof topics / sizeof *topics));
    suite_add_tcase(s, c);
    return testing_main(s);
}
