/* domain/activity without a database: how stock is split, which drafts can be sold, when two are the same; and what is
 * said about a broker's version. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/domain/activity/activity_draft.h"
#include "orderd/activity_apply.h"
#include "orderd/activity_move.h"
#include "orderd/topology.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- shards ---- */

static const struct {
    int64_t total;
    int32_t shards;
    int64_t first, last;
} splits[] = {
    {1000, 1, 1000, 1000}, {1000, 4, 250, 250}, {1001, 4, 251, 250},
    {1003, 4, 251, 250},   {7, 7, 1, 1},        {999999999, 1024, 976563, 976562},
};

START_TEST(split)
{
    struct activity a = {.id = 5,
                         .total_stock = splits[_i].total,
                         .shards = splits[_i].shards,
                         .epoch = 3,
                         .per_user_limit = 2,
                         .starts_at = 1000,
                         .ends_at = 5000,
                         .pay_timeout_ms = 900000};
    struct stock_plan plan;
    int64_t sum = 0, before = INT64_MAX;

    for (int i = 0; i < a.shards; i++) {
        activity_plan(&a, i, &plan);
        ck_assert_int_eq(plan.shard, i);
        ck_assert_int_le(plan.cap, before);
        if (i == 0)
            ck_assert_int_eq(plan.cap, splits[_i].first);
        before = plan.cap;
        sum += plan.cap;
    }
    ck_assert_int_eq(plan.cap, splits[_i].last);
    ck_assert_int_eq(sum, a.total_stock);
    ck_assert_int_eq(plan.activity, 5);
    ck_assert_int_eq(plan.epoch, 3);
    ck_assert_int_eq(plan.limit, 2);
    ck_assert_int_eq(plan.starts_at, 1000);
    ck_assert_int_eq(plan.ends_at, 5000);
    ck_assert_int_eq(plan.expire_at, 5000 + 900000 + 7200000);
}
END_TEST

/* ---- by time ---- */

static const struct {
    enum activity_state state;
    bool preheated;
    int64_t now; /* the sale is from 1000 to 2000 */
    enum activity_state due;
} times[] = {
    {ACTIVITY_SCHEDULED, true, 999, ACTIVITY_SCHEDULED},   {ACTIVITY_SCHEDULED, true, 1000, ACTIVITY_RUNNING},
    {ACTIVITY_SCHEDULED, true, 1999, ACTIVITY_RUNNING},    {ACTIVITY_SCHEDULED, true, 2000, ACTIVITY_ENDED},
    {ACTIVITY_SCHEDULED, false, 1000, ACTIVITY_SCHEDULED}, {ACTIVITY_SCHEDULED, false, 2000, ACTIVITY_ENDED},
    {ACTIVITY_RUNNING, true, 999, ACTIVITY_RUNNING},       {ACTIVITY_RUNNING, true, 1999, ACTIVITY_RUNNING},
    {ACTIVITY_RUNNING, true, 2000, ACTIVITY_ENDED},        {ACTIVITY_REVIEW, false, 5000, ACTIVITY_REVIEW},
    {ACTIVITY_ENDED, true, 1500, ACTIVITY_ENDED},          {ACTIVITY_SETTLED, true, 1500, ACTIVITY_SETTLED},
};

START_TEST(due_by_time)
{
    struct activity a = {
        .state = times[_i].state, .preheated = times[_i].preheated, .starts_at = 1000, .ends_at = 2000};
    enum activity_state due = activity_due_state(&a, times[_i].now);

    ck_assert_str_eq(activity_state_name(due), activity_state_name(times[_i].due));
    ck_assert(due == a.state || activity_state_may_follow(a.state, due));
}
END_TEST

/* ---- shards ---- */

static const struct {
    struct stock_audit audit;
    enum shard_fault fault;
} shards[] = {
    {{.code = STOCK_AUDIT_PRESENT, .epoch = 3, .starts_at = 1000, .ends_at = 2000}, SHARD_FINE},
    {{.code = STOCK_AUDIT_NO_SHARD}, SHARD_MISSING},
    {{.code = STOCK_AUDIT_DAMAGED, .epoch = 3, .starts_at = 1000, .ends_at = 2000}, SHARD_DAMAGED},
    {{.code = STOCK_AUDIT_PRESENT, .epoch = 2, .starts_at = 1000, .ends_at = 2000}, SHARD_OTHER_EPOCH},
    {{.code = STOCK_AUDIT_PRESENT, .epoch = 4, .starts_at = 1, .ends_at = 2, .paused = 1}, SHARD_OTHER_EPOCH},
    {{.code = STOCK_AUDIT_PRESENT, .epoch = 3, .starts_at = 999, .ends_at = 2000}, SHARD_OTHER_WINDOW},
    {{.code = STOCK_AUDIT_PRESENT, .epoch = 3, .starts_at = 1000, .ends_at = 2001}, SHARD_OTHER_WINDOW},
    {{.code = STOCK_AUDIT_PRESENT, .epoch = 3, .starts_at = 1000, .ends_at = 2000, .paused = 1}, SHARD_PAUSED},
};

START_TEST(shard_faults)
{
    const struct activity a = {.epoch = 3, .starts_at = 1000, .ends_at = 2000};

    ck_assert_str_eq(shard_fault_name(shard_fault_of(&a, &shards[_i].audit)), shard_fault_name(shards[_i].fault));
}
END_TEST

/* ---- drafts ---- */

static struct activity_draft good(void)
{
    return (struct activity_draft){.id = 1,
                                   .sku_id = 2,
                                   .unit_price = 9900,
                                   .total_stock = 100,
                                   .pay_timeout_ms = 900000,
                                   .per_user_limit = 2,
                                   .shards = 4,
                                   .rebuy_after_release = true,
                                   .reservations = true,
                                   .title = slice_of("\u51ac\u5b63"),
                                   .currency = slice_of("CNY"),
                                   .starts = {true, 0},
                                   .ends = {true, 60000}};
}

START_TEST(draft_good)
{
    struct activity_draft d = good();
    struct activity a;
    struct error err = {0};

    ck_assert_ok(activity_draft_row(&d, 1000000, &a, &err), &err);
    ck_assert_int_eq(a.starts_at, 1000000);
    ck_assert_int_eq(a.ends_at, 1060000);
    ck_assert_int_eq(a.created_at, 1000000);
    ck_assert_int_eq(a.available, 100);
    ck_assert_int_eq(a.state, ACTIVITY_REVIEW);
    ck_assert_str_eq(a.title, "\u51ac\u5b63");
    ck_assert_str_eq(a.currency, "CNY");
    d.ends = (struct activity_when){false, 2000000};
    ck_assert_ok(activity_draft_row(&d, 1000000, &a, &err), &err);
    ck_assert_int_eq(a.ends_at, 2000000);
}
END_TEST

static char title_200[201 * 4 + 1], title_201[202 * 4 + 1];

#define BAD(field_, value_, sentence_)                                                                                 \
    do {                                                                                                               \
        struct activity_draft d_ = good();                                                                             \
        struct activity a_;                                                                                            \
        struct error err_ = {0};                                                                                       \
        d_.field_ = value_;                                                                                            \
        ck_assert(!activity_draft_row(&d_, 1000000, &a_, &err_));                                                      \
        ck_assert_int_eq(err_.code, ERROR_INPUT_INVALID);                                                              \
        ck_assert_str_eq(err_.text, sentence_);                                                                        \
    } while (0)

#define BAD_TITLE "the title is not 1 to 200 characters of UTF-8 without control characters"

START_TEST(draft_bad)
{
    struct activity_draft d = good();
    struct activity a;
    struct error err = {0};

    for (int i = 0; i < 201; i++) {
        strcat(title_201, "\u51ac");
        if (i < 200)
            strcat(title_200, "\u51ac");
    }
    d.title = slice_of(title_200);
    ck_assert_ok(activity_draft_row(&d, 1000000, &a, &err), &err);
    BAD(title, slice_of(title_201), BAD_TITLE);
    BAD(title, slice_of(""), BAD_TITLE);
    BAD(title, slice_of("a\nb"), BAD_TITLE);
    BAD(title, slice_of("a\x7f"), BAD_TITLE);
    BAD(title, slice_of("\xff\xfe"), BAD_TITLE);
    BAD(title, ((struct slice){"a\0b", 3}), BAD_TITLE);
    BAD(currency, slice_of("cny"), "the currency is not three capital letters such as CNY");
    BAD(currency, slice_of("CN"), "the currency is not three capital letters such as CNY");
    BAD(id, 0, "the activity's number is 0 (expected 1 to 9223372036854775807)");
    BAD(sku_id, -1, "the SKU is -1 (expected 1 to 9223372036854775807)");
    BAD(unit_price, -1, "the price is -1 (expected 0 to 999999999999999)");
    BAD(unit_price, 500000000000001, "the price of 2 units, the most that one user may buy, is over 999999999999999");
    BAD(total_stock, 1000000000, "the stock is 1000000000 (expected 1 to 999999999)");
    BAD(total_stock, 3,
        "3 units are less than one for each of 4 shards; a buyer whose shard has none could never buy: take fewer "
        "shards");
    BAD(per_user_limit, 101, "the limit per user is 101 (expected 1 to 100)");
    BAD(shards, 0, "the number of shards is 0 (expected 1 to 1024)");
    BAD(pay_timeout_ms, 0, "the payment time-out is 0 (expected 1000 to 2592000000)");
    BAD(ends, ((struct activity_when){true, 0}),
        "the sale would end at 1970-01-01T00:16:40.000Z, not after its start at 1970-01-01T00:16:40.000Z");
}
END_TEST

#define DIFFERS(field_, value_, sentence_)                                                                             \
    do {                                                                                                               \
        struct activity wanted_ = a, there_ = a;                                                                       \
        there_.field_ = value_;                                                                                        \
        ck_assert(!activity_draft_is(&wanted_, &there_, &err));                                                        \
        ck_assert_int_eq(err.code, ERROR_REFUSED);                                                                     \
        ck_assert_msg(strstr(err.text, "activity 1 exists with " sentence_ ";"), "%s", err.text);                      \
    } while (0)

START_TEST(draft_same)
{
    struct activity_draft d = good();
    struct activity a, later;
    struct error err = {0};

    ck_assert_ok(activity_draft_row(&d, 1000000, &a, &err), &err);
    later = a;
    later.state = ACTIVITY_RUNNING; /* what became of it does not count */
    later.epoch = 1;
    later.available = 3;
    later.preheated = true;
    ck_assert_ok(activity_draft_is(&a, &later, &err), &err);
    DIFFERS(sku_id, 7, "SKU 7 instead of 2");
    DIFFERS(unit_price, 1, "price 1 instead of 9900");
    DIFFERS(total_stock, 99, "stock 99 instead of 100");
    DIFFERS(per_user_limit, 1, "limit per user 1 instead of 2");
    DIFFERS(shards, 1, "shards 1 instead of 4");
    DIFFERS(pay_timeout_ms, 60000, "payment time-out 1m instead of 15m");
    DIFFERS(starts_at, 0, "start 1970-01-01T00:00:00.000Z instead of 1970-01-01T00:16:40.000Z");
    DIFFERS(ends_at, 0, "end 1970-01-01T00:00:00.000Z instead of 1970-01-01T00:17:40.000Z");
    DIFFERS(free_amount, true, "free amounts on instead of off");
    DIFFERS(rebuy_after_release, false, "buying again after release off instead of on");
    DIFFERS(reservations, false, "reservations off instead of on");
    DIFFERS(title[0], 'x', "title x\x86\xac\u5b63 instead of \u51ac\u5b63");
    DIFFERS(currency[0], 'X', "currency XNY instead of CNY");
}
END_TEST

/* ---- the broker's version ---- */

struct heard {
    unsigned certain, uncertain;
    char last[256];
};

static void hear(void *arg, const char *sentence, bool certain)
{
    struct heard *h = arg;

    h->certain += certain;
    h->uncertain += !certain;
    strncpy(h->last, sentence, sizeof h->last - 1);
}

static const struct {
    int version;
    bool classic;
    unsigned certain, uncertain;
    const char *mentions;
} versions[] = {
    {0, false, 1, 0, "does not say its version"},
    {30905, false, 1, 0, "RabbitMQ 3.9.5; before 3.10"},
    {31000, false, 0, 1, "stream_queue"},
    {31199, false, 0, 1, "stream_queue"},
    {31200, false, 0, 0, ""},
    {40300, false, 0, 0, ""},
    {31008, true, 1, 0, "broker.queue_type is classic"},
    {30905, true, 2, 0, "RabbitMQ 3.9.5"},
};

START_TEST(broker_version_warned)
{
    struct error err;
    struct conf *conf = conf_load(NULL, &err);
    struct heard heard = {0};

    conf->broker_queue_type = versions[_i].classic ? CONF_QUEUE_TYPE_CLASSIC : CONF_QUEUE_TYPE_QUORUM;
    topology_warn(versions[_i].version, conf, hear, &heard);
    ck_assert_uint_eq(heard.certain, versions[_i].certain);
    ck_assert_uint_eq(heard.uncertain, versions[_i].uncertain);
    ck_assert_msg(strstr(heard.last, versions[_i].mentions), "%s", heard.last);
    conf_destroy(&conf);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("activity");
    TCase *t = tcase_create("activity");

    tcase_add_loop_test(t, split, 0, COUNT(splits));
    tcase_add_loop_test(t, due_by_time, 0, COUNT(times));
    tcase_add_loop_test(t, shard_faults, 0, COUNT(shards));
    tcase_add_test(t, draft_good);
    tcase_add_test(t, draft_bad);
    tcase_add_test(t, draft_same);
    tcase_add_loop_test(t, broker_version_warned, 0, COUNT(versions));
    suite_add_tcase(s, t);
    return testing_main(s);
}
