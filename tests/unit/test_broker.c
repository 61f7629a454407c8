/* client/broker, the parts without a network: confirm window, headers, properties, inbox, what a close means. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "../../src/client/broker/broker_private.h"
#include "../../src/client/broker/headers.h"
#include "../../src/client/broker/hosts.h"
#include "../../src/client/broker/properties.h"

/* ---- the window ---- */

#define IDS(n) ((struct slice){(const char *)&(n), sizeof(n)})

START_TEST(window_single_and_multiple)
{
    struct window *w = window_create(4);
    enum broker_outcome out[6];

    for (uint64_t i = 0; i < 4; i++)
        window_add(w, IDS(i), 10, &out[i]);
    ck_assert(window_full(w));
    window_settle(w, 2, false, true);
    ck_assert_int_eq(out[1], BROKER_OUTCOME_CONFIRMED);
    ck_assert_int_eq(out[0], BROKER_OUTCOME_PENDING);
    ck_assert(window_full(w)); /* the oldest still holds its place */
    window_settle(w, 3, true, false);
    ck_assert_int_eq(out[0], BROKER_OUTCOME_REFUSED);
    ck_assert_int_eq(out[1], BROKER_OUTCOME_CONFIRMED); /* not twice */
    ck_assert_int_eq(out[2], BROKER_OUTCOME_REFUSED);
    ck_assert_uint_eq(window_pending(w), 1);
    ck_assert(!window_full(w));
    ck_assert_uint_eq(window_strays(w), 0);
    window_abandon(w);
    ck_assert_int_eq(out[3], BROKER_OUTCOME_UNKNOWN);
    window_destroy(&w);
}
END_TEST

/* pika #911: a nack for what an ack had covered; and tags that nobody ever published. */
START_TEST(window_ignores_and_counts_strays)
{
    struct window *w = window_create(8);
    enum broker_outcome out[3];

    for (uint64_t i = 0; i < 3; i++)
        window_add(w, IDS(i), 1, &out[i]);
    window_settle(w, 2, true, true);
    window_settle(w, 1, false, false);
    window_settle(w, 2, true, false);
    window_settle(w, 0, true, true);
    window_settle(w, 4, true, true);
    window_settle(w, UINT64_MAX, true, true);
    ck_assert_uint_eq(window_strays(w), 5);
    ck_assert_int_eq(out[0], BROKER_OUTCOME_CONFIRMED);
    ck_assert_int_eq(out[1], BROKER_OUTCOME_CONFIRMED);
    ck_assert_int_eq(out[2], BROKER_OUTCOME_PENDING);
    window_abandon(w);
    window_destroy(&w);
}
END_TEST

START_TEST(window_return_beats_ack)
{
    struct window *w = window_create(8);
    enum broker_outcome out[4];

    for (uint64_t i = 0; i < 4; i++)
        window_add(w, IDS(i), 1, &out[i]);
    for (uint64_t i = 3; i >= 2; i--) /* even out of order */
        window_return(w, IDS(i));
    ck_assert_int_eq(out[2], BROKER_OUTCOME_PENDING);
    window_settle(w, 3, true, true);
    ck_assert_int_eq(out[0], BROKER_OUTCOME_CONFIRMED);
    ck_assert_int_eq(out[2], BROKER_OUTCOME_RETURNED);
    window_abandon(w); /* the fourth was returned, its ack never came */
    ck_assert_int_eq(out[3], BROKER_OUTCOME_RETURNED);
    window_return(w, slice_of("nobody"));
    ck_assert_uint_eq(window_strays(w), 1);
    window_destroy(&w);
}
END_TEST

static const struct {
    uint64_t said;
    enum broker_outcome small, large;
} too_large[] = {
    {2000, BROKER_OUTCOME_UNKNOWN, BROKER_OUTCOME_TOO_LARGE},
    {3000, BROKER_OUTCOME_UNKNOWN, BROKER_OUTCOME_TOO_LARGE}, /* counted otherwise than we do: the largest it was */
    {0, BROKER_OUTCOME_UNKNOWN, BROKER_OUTCOME_TOO_LARGE},
    {100, BROKER_OUTCOME_TOO_LARGE, BROKER_OUTCOME_TOO_LARGE},
};

START_TEST(window_too_large_by_size)
{
    struct window *w = window_create(8);
    enum broker_outcome out[3];
    static const size_t sizes[] = {100, 2000, 100};

    for (uint64_t i = 0; i < 3; i++)
        window_add(w, IDS(i), sizes[i], &out[i]);
    window_too_large(w, too_large[_i].said);
    window_abandon(w);
    ck_assert_int_eq(out[0], too_large[_i].small);
    ck_assert_int_eq(out[1], too_large[_i].large);
    ck_assert_int_eq(out[2], too_large[_i].small);
    window_destroy(&w);
}
END_TEST

/* Against a model that keeps every publication for ever: random adds, returns, acks and nacks, single and multiple, in
 * any order, strays among them. */
#define MODEL_MAX 20000

static unsigned long long rng = 88172645463325252ULL;

static unsigned random_below(unsigned n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (unsigned)(rng % n);
}

struct model {
    enum broker_outcome want[MODEL_MAX + 1], got[MODEL_MAX + 1];
    bool returned[MODEL_MAX + 1];
    uint64_t next, strays;
};

static void model_settle(struct model *m, uint64_t tag, bool multiple, bool positive)
{
    bool any = false;

    if (tag >= 1 && tag < m->next) {
        for (uint64_t n = multiple ? 1 : tag; n <= tag; n++) {
            if (m->want[n] != BROKER_OUTCOME_PENDING)
                continue;
            m->want[n] = m->returned[n] ? BROKER_OUTCOME_RETURNED
                         : positive     ? BROKER_OUTCOME_CONFIRMED
                                        : BROKER_OUTCOME_REFUSED;
            any = true;
        }
    }
    m->strays += !any;
}

static void model_return(struct model *m, uint64_t n)
{
    if (n >= 1 && n < m->next && m->want[n] == BROKER_OUTCOME_PENDING && !m->returned[n])
        m->returned[n] = true;
    else
        m->strays++;
}

START_TEST(window_property)
{
    static struct model m;
    unsigned size = 0, steps = 60000;
    struct window *w;

    for (int i = 0; i <= _i; i++) /* another run of numbers for each round */
        size = 1 + random_below(200);
    w = window_create(size);
    memset(&m, 0, sizeof m);
    m.next = 1;
    while (steps-- && m.next < MODEL_MAX) {
        uint64_t back = random_below(size + 3), tag = m.next + 1 > back ? m.next + 1 - back : 0;

        if (random_below(3) && !window_full(w)) {
            window_add(w, IDS(m.next), 1, &m.got[m.next]);
            m.next++;
        } else if (random_below(5) == 0) {
            window_return(w, IDS(tag));
            model_return(&m, tag);
        } else {
            bool multiple = random_below(4) == 0, positive = random_below(4) != 0;

            window_settle(w, tag, multiple, positive);
            model_settle(&m, tag, multiple, positive);
        }
    }
    for (uint64_t n = 1; n < m.next; n++)
        ck_assert_msg(m.got[n] == m.want[n], "publication %llu: got %d, want %d", (unsigned long long)n, m.got[n],
                      m.want[n]);
    ck_assert_uint_eq(window_strays(w), m.strays);
    ck_assert(m.next > 1000);
    window_abandon(w);
    ck_assert_uint_eq(window_pending(w), 0);
    window_destroy(&w);
}
END_TEST

/* ---- headers ---- */

#define LIT(text)                                                                                                      \
    {                                                                                                                  \
        sizeof(text) - 1, (void *)(text)                                                                               \
    }

/* Every kind that a broker or another client may send, encoded by the library that sends them. */
static struct slice encode(amqp_table_entry_t *entries, int count, char *to, size_t size)
{
    amqp_table_t table = {count, entries};
    size_t offset = 0;

    ck_assert_int_eq(amqp_encode_table((amqp_bytes_t){size, to}, &table, &offset), 0);
    return (struct slice){to + 4, offset - 4};
}

#define FIELD(kind_, member, ...)                                                                                      \
    {                                                                                                                  \
        .kind = (kind_), .value.member = __VA_ARGS__                                                                   \
    }

static const struct {
    amqp_field_value_t field;
    const char *text; /* NULL: left out */
    bool is_integer;
    int64_t integer;
} fields[] = {
    {FIELD('t', boolean, 1), "true", false, 0},
    {FIELD('t', boolean, 0), "false", false, 0},
    {FIELD('b', i8, -128), "-128", true, -128},
    {FIELD('B', u8, 255), "255", true, 255},
    {FIELD('s', i16, -32768), "-32768", true, -32768},
    {FIELD('u', u16, 65535), "65535", true, 65535},
    {FIELD('I', i32, INT32_MIN), "-2147483648", true, INT32_MIN},
    {FIELD('i', u32, UINT32_MAX), "4294967295", true, UINT32_MAX},
    {FIELD('l', i64, INT64_MIN), "-9223372036854775808", true, INT64_MIN},
    {FIELD('l', i64, INT64_MAX), "9223372036854775807", true, INT64_MAX},
    {FIELD('L', u64, UINT64_MAX), "18446744073709551615", false, 0},
    {FIELD('T', u64, 1764400000), "1764400000", true, 1764400000},
    {FIELD('f', f32, 0.5F), "0.5", false, 0},
    {FIELD('d', f64, -1.25), "-1.25", false, 0},
    {FIELD('D', decimal, {2, 12345}), "12345e-2", false, 0},
    {FIELD('S', bytes, LIT("a\0b\nc")), "a\0b\nc", false, 0},
    {FIELD('x', bytes, LIT("xy")), "xy", false, 0},
    {FIELD('S', bytes, LIT("")), "", false, 0},
    {FIELD('V', u8, 0), "", false, 0},
    {FIELD('A', array, {0, NULL}), NULL, false, 0},
    {FIELD('F', table, {0, NULL}), NULL, false, 0},
};

START_TEST(header_of_every_kind)
{
    amqp_table_entry_t entries[] = {{.key = LIT("a"), .value = fields[_i].field},
                                    {.key = LIT("z"), .value = FIELD('I', i32, 7)}};
    size_t text_len = fields[_i].field.kind == 'S' ? fields[_i].field.value.bytes.len
                      : fields[_i].text            ? strlen(fields[_i].text)
                                                   : 0;
    char wire[256];
    struct headers h = headers_read(encode(entries, 2, wire, sizeof wire));
    size_t at = fields[_i].text != NULL;

    ck_assert_uint_eq(h.count, at + 1);
    ck_assert(slice_is(h.list[at].name, "z") && h.list[at].integer == 7); /* what follows is still found */
    if (at) {
        ck_assert(slice_is(h.list[0].name, "a"));
        ck_assert(slice_equal(h.list[0].value, (struct slice){fields[_i].text, text_len}));
        ck_assert_int_eq(h.list[0].is_integer, fields[_i].is_integer);
        ck_assert_int_eq(h.list[0].integer, fields[_i].integer);
    }
    headers_release(&h);
}
END_TEST

/* However it is cut or spoilt: no crash (the sanitizers watch), never more headers than the whole has. */
START_TEST(headers_cut_and_spoilt)
{
    amqp_table_entry_t entries[sizeof fields / sizeof *fields];
    int n = (int)(sizeof fields / sizeof *fields);
    char wire[1024], *copy;
    struct slice all;
    struct headers h;

    for (int i = 0; i < n; i++)
        entries[i] = (amqp_table_entry_t){.key = LIT("key"), .value = fields[i].field};
    all = encode(entries, n, wire, sizeof wire);
    for (size_t len = 0; len <= all.len; len++) {
        copy = check_malloc(len); /* exact, so that a read past its end is seen */
        memcpy(copy, all.ptr, len);
        h = headers_read((struct slice){copy, len});
        ck_assert_uint_le(h.count, (size_t)n - 2);
        headers_release(&h);
        for (int tries = 0; len && tries < 20; tries++) {
            copy[random_below((unsigned)len)] = (char)random_below(256);
            h = headers_read((struct slice){copy, len});
            headers_release(&h);
        }
        free(copy);
    }
}
END_TEST

START_TEST(headers_are_bounded)
{
    struct strbuf sb = STRBUF_INIT;
    struct headers h;

    for (int i = 0; i < 2000; i++)
        strbuf_add(&sb, "\1kt\1", 4);
    h = headers_read((struct slice){sb.data, sb.len});
    ck_assert_uint_eq(h.count, HEADERS_MAX);
    headers_release(&h);
    strbuf_release(&sb);
}
END_TEST

/* A table in a table in a table ...: stepped over by its length. */
START_TEST(headers_nesting_is_not_entered)
{
    enum { DEPTH = 20000 };
    struct strbuf sb = STRBUF_INIT;
    struct headers h;

    for (int depth = 0; depth < DEPTH; depth++) {
        unsigned rest = 6U * (unsigned)(DEPTH - depth - 1);
        const unsigned char head[] = {0,
                                      'F',
                                      (unsigned char)(rest >> 24),
                                      (unsigned char)(rest >> 16),
                                      (unsigned char)(rest >> 8),
                                      (unsigned char)rest};

        strbuf_add(&sb, head, sizeof head);
    }
    strbuf_add(&sb, "\1kt\1", 4);
    h = headers_read((struct slice){sb.data, sb.len});
    ck_assert_uint_eq(h.count, 1);
    ck_assert(slice_is(h.list[0].name, "k"));
    headers_release(&h);
    strbuf_release(&sb);
}
END_TEST

static const struct {
    const char *name;
    bool owned;
} names[] = {
    {"x-death", true},
    {"X-Death", true},
    {"x-delivery-count", true},
    {"x-first-death-queue", true},
    {"x-", true},
    {"x", false},
    {"", false},
    {"xdeath", false},
    {"traceparent", false},
    {"orderd-attempt", false},
    {"orderd-x-death", false},
    {"ax-death", false},
    {"x_death", false},
};

START_TEST(header_owner)
{
    ck_assert_int_eq(headers_broker_owned(slice_of(names[_i].name)), names[_i].owned);
}
END_TEST

/* ---- properties ---- */

START_TEST(properties_of_every_shape)
{
    amqp_table_entry_t entry = {.key = LIT("h"), .value = FIELD('I', i32, 5)};
    amqp_basic_properties_t p = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG | AMQP_BASIC_HEADERS_FLAG |
                  AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_PRIORITY_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG |
                  AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_EXPIRATION_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                  AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_USER_ID_FLAG | AMQP_BASIC_APP_ID_FLAG |
                  AMQP_BASIC_CLUSTER_ID_FLAG,
        .content_type = LIT("ct"),
        .content_encoding = LIT("ce"),
        .headers = {1, &entry},
        .delivery_mode = 2,
        .priority = 3,
        .correlation_id = LIT("ci"),
        .reply_to = LIT("rt"),
        .expiration = LIT("9"),
        .message_id = LIT("mi"),
        .timestamp = 1764400000,
        .type = LIT("ty"),
        .user_id = LIT("ui"),
        .app_id = LIT("ai"),
        .cluster_id = LIT("cl"),
    };
    char wire[256];
    int len = amqp_encode_properties(AMQP_BASIC_CLASS, &p, (amqp_bytes_t){sizeof wire, wire});
    struct properties out;
    struct headers h;

    ck_assert_int_gt(len, 0);
    ck_assert(properties_read((struct slice){wire, (size_t)len}, &out));
    ck_assert(slice_is(out.content_type, "ct"));
    ck_assert(slice_is(out.correlation_id, "ci"));
    ck_assert(slice_is(out.message_id, "mi"));
    ck_assert_uint_eq(out.timestamp, 1764400000);
    h = headers_read(out.headers);
    ck_assert_uint_eq(h.count, 1);
    ck_assert_int_eq(h.list[0].integer, 5);
    headers_release(&h);
    for (int cut = 0; cut < len - 12; cut++) { /* the last four are not read */
        char *copy = check_malloc((size_t)cut);

        memcpy(copy, wire, (size_t)cut);
        ck_assert(!properties_read((struct slice){copy, (size_t)cut}, &out));
        free(copy);
    }
}
END_TEST

START_TEST(properties_of_none)
{
    struct properties out;

    ck_assert(properties_read((struct slice){"\0\0", 2}, &out));
    ck_assert_uint_eq(out.message_id.len, 0);
    ck_assert(properties_read((struct slice){"\0\1\0\1\0\0", 6}, &out)); /* continued flag words */
    ck_assert(!properties_read((struct slice){"\0\1", 2}, &out));
}
END_TEST

/* ---- inbox ---- */

START_TEST(inbox_keeps_order_and_count)
{
    struct inbox in = {0};
    uint64_t put = 0, got = 0;
    struct broker_delivery d = {.body = {"xyz", 3}}, out;

    inbox_reserve(&in, 5);
    for (int round = 0; round < 1000; round++) {
        if (round == 500)
            inbox_reserve(&in, 7); /* while it wraps around */
        if (!inbox_full(&in) && random_below(2)) {
            d.tag = ++put;
            inbox_put(&in, &d);
        } else if (in.count) {
            inbox_get(&in, &out);
            ck_assert_uint_eq(out.tag, ++got);
        }
        ck_assert_uint_eq(in.count, put - got);
        ck_assert_uint_eq(in.bytes, 3 * (put - got));
    }
    ck_assert_uint_gt(got, 100);
    inbox_release(&in);
}
END_TEST

/* ---- what a close means ---- */

static const struct {
    bool of_connection;
    uint16_t code;
    const char *text;
    enum error_code meaning;
} closes[] = {
    {false, 404, "NOT_FOUND - no queue 'q' in vhost '/'", ERROR_BROKER_SETUP},
    {false, 404, "NOT_FOUND - home node 'a@b' of durable queue 'q' in vhost '/' is down or inaccessible",
     ERROR_BROKER_AWAY},
    {false, 403, "ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'u'", ERROR_BROKER_SETUP},
    {false, 405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q'", ERROR_BROKER_SETUP},
    {false, 406, "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'q'", ERROR_BROKER_SETUP},
    {false, 406, "PRECONDITION_FAILED - unknown delivery tag 7", ERROR_BROKER_AWAY},
    {false, 406, "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 60000 ms",
     ERROR_BROKER_AWAY},
    {false, 406, "PRECONDITION_FAILED - message size 2000 is larger than configured max size 1000",
     ERROR_BROKER_TOO_LARGE},
    {false, 541, "INTERNAL_ERROR", ERROR_BROKER_AWAY},
    {true, 320, "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'", ERROR_BROKER_AWAY},
    {true, 403, "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN.", ERROR_BROKER_SETUP},
    {true, 530, "NOT_ALLOWED - vhost v not found", ERROR_BROKER_SETUP},
    {true, 530, "NOT_ALLOWED - access to vhost '/' refused for user 'u': connection limit (1) is reached",
     ERROR_BROKER_AWAY},
    {true, 504, "CHANNEL_ERROR", ERROR_BROKER_AWAY},
};

START_TEST(close_meaning)
{
    ck_assert_int_eq(broker_close_meaning(closes[_i].of_connection, closes[_i].code, slice_of(closes[_i].text)),
                     closes[_i].meaning);
}
END_TEST

START_TEST(refused_size)
{
    ck_assert_uint_eq(broker_refused_size(slice_of("message size 2000 is larger than configured max size 1000")), 2000);
    ck_assert_uint_eq(broker_refused_size(slice_of("P - message size 12 larger than max size 10")), 12);
    ck_assert_uint_eq(broker_refused_size(slice_of("message size 99999999999999999999999999 larger than")) > 0, 1);
    ck_assert_uint_eq(broker_refused_size(slice_of("message size x larger than max size 10")), 0);
    ck_assert_uint_eq(broker_refused_size(slice_of("unknown delivery tag 7")), 0);
}
END_TEST

/* ---- which host first ---- */

#define NOW     1000000
#define AGO(ms) (NOW - (ms))
#define WELL                                                                                                           \
    {                                                                                                                  \
        0                                                                                                              \
    }
#define FORGIVEN                                                                                                       \
    {                                                                                                                  \
        AGO(HOSTS_AVOID_MS)                                                                                            \
    }
#define FAILED(n)                                                                                                      \
    {                                                                                                                  \
        AGO(n)                                                                                                         \
    }

static const struct {
    struct hosts_mark marks[4];
    unsigned count;
    uint64_t start;
    const char *order;
} arranged[] = {
    {{WELL}, 1, 7, "0"},
    {{WELL, WELL, WELL}, 3, 0, "012"},
    {{WELL, WELL, WELL}, 3, 1, "120"},
    {{WELL, WELL, WELL}, 3, 2, "201"},
    {{WELL, WELL, WELL}, 3, UINT64_MAX, "012"}, /* of some 2^64 calls, whatever that one begins with */
    {{WELL, FAILED(1), WELL}, 3, 0, "021"},
    {{WELL, FAILED(1), WELL}, 3, 1, "201"}, /* both others get as much */
    {{WELL, FAILED(1), WELL}, 3, 2, "021"},
    {{FAILED(5), FAILED(1), WELL, FAILED(9)}, 4, 1, "2301"},
    {{FAILED(1), FAILED(1), FAILED(1)}, 3, 2, "012"},
    {{FORGIVEN, FAILED(HOSTS_AVOID_MS - 1), WELL}, 3, 0, "021"},
    {{FORGIVEN, FAILED(HOSTS_AVOID_MS - 1), WELL}, 3, 1, "201"},
    {{FAILED(-5), WELL}, 2, 0, "10"}, /* by a clock that is a little behind that of another thread */
};

START_TEST(hosts_in_order)
{
    unsigned order[HOSTS_MAX];

    hosts_arrange(arranged[_i].marks, arranged[_i].count, arranged[_i].start, NOW, order);
    for (unsigned i = 0; i < arranged[_i].count; i++)
        ck_assert_uint_eq(order[i], (unsigned)(arranged[_i].order[i] - '0'));
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("broker");
    TCase *tc = tcase_create("broker");

    suite_add_tcase(suite, tc);
    tcase_add_test(tc, window_single_and_multiple);
    tcase_add_test(tc, window_ignores_and_counts_strays);
    tcase_add_test(tc, window_return_beats_ack);
    tcase_add_loop_test(tc, window_too_large_by_size, 0, COUNT(too_large));
    tcase_add_loop_test(tc, window_property, 0, 20);
    tcase_add_loop_test(tc, header_of_every_kind, 0, COUNT(fields));
    tcase_add_test(tc, headers_cut_and_spoilt);
    tcase_add_test(tc, headers_are_bounded);
    tcase_add_test(tc, headers_nesting_is_not_entered);
    tcase_add_loop_test(tc, header_owner, 0, COUNT(names));
    tcase_add_test(tc, properties_of_every_shape);
    tcase_add_test(tc, properties_of_none);
    tcase_add_test(tc, inbox_keeps_order_and_count);
    tcase_add_loop_test(tc, close_meaning, 0, COUNT(closes));
    tcase_add_test(tc, refused_size);
    tcase_add_loop_test(tc, hosts_in_order, 0, COUNT(arranged));
    return testing_main(suite);
}
