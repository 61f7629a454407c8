/* create_queue: which queue an activity belongs to, under which names, and how far their lanes have come. */
#include "testing.h"

#include <string.h>

#include "orderd/create_queue.h"

/* The function as its authors published it. */
static unsigned published(uint64_t key, unsigned queues)
{
    int64_t bucket = -1, next = 0;

    while (next < (int64_t)queues) {
        bucket = next;
        key = key * 2862933555777941757U + 1;
        next = (int64_t)((double)(bucket + 1) * ((double)(INT64_C(1) << 31) / (double)((key >> 33) + 1)));
    }
    return (unsigned)bucket + 1;
}

static int64_t an_activity(int n)
{
    static const int64_t odd[] = {1, 2, INT64_MAX, INT64_MAX - 1, INT64_C(1) << 31, INT64_C(1) << 53, 1764400000123};

    if (n < (int)(sizeof odd / sizeof *odd))
        return odd[n];
    return n % 2 ? 1000 + n : (int64_t)((uint64_t)n * UINT64_C(0x9e3779b97f4a7c15) >> 1);
}

#define ACTIVITIES 20000

/* Web tiers in other languages choose by the published function. */
START_TEST(chosen_as_published)
{
    for (int n = 0; n < ACTIVITIES; n++) {
        for (unsigned queues = 1; queues <= CREATE_QUEUES_MAX; queues++)
            ck_assert_uint_eq(create_queue_number(an_activity(n), queues), published((uint64_t)an_activity(n), queues));
    }
    ck_assert_uint_eq(create_queue_number(1, 16), 7); /* as the table in docs/web-tier.md says */
    ck_assert_uint_eq(create_queue_number(1003, 3), 2);
}
END_TEST

/* Whoever knows of one queue fewer is wrong about the activities of the new one alone. */
START_TEST(only_to_the_new_one)
{
    for (int n = 0; n < ACTIVITIES; n++) {
        for (unsigned queues = 2; queues <= CREATE_QUEUES_MAX; queues++) {
            unsigned now = create_queue_number(an_activity(n), queues);

            ck_assert(now == queues || now == create_queue_number(an_activity(n), queues - 1));
        }
    }
}
END_TEST

START_TEST(spread)
{
    for (unsigned queues = 2; queues <= CREATE_QUEUES_MAX; queues++) {
        int count[CREATE_QUEUES_MAX] = {0}, fair = ACTIVITIES / (int)queues;

        for (int n = 0; n < ACTIVITIES; n++)
            count[create_queue_number(1001 + n, queues) - 1]++; /* ids one after the other */
        for (unsigned i = 0; i < queues; i++)
            ck_assert_msg(count[i] > fair * 8 / 10 && count[i] < fair * 12 / 10, "%d of %d in queue %u of %u", count[i],
                          ACTIVITIES, i + 1, queues);
    }
}
END_TEST

static const struct {
    const char *first, *name;
    bool is;
} names[] = {
    {"order.create", "order.create", true},
    {"order.create", "order.create.2", true},
    {"order.create", "order.create.16", true},
    {"order.create", "order.create.1", false},
    {"order.create", "order.create.17", false},
    {"order.create", "order.create.02", false},
    {"order.create", "order.create.", false},
    {"order.create", "order.create.2x", false},
    {"order.create", "order.create.200", false},
    {"order.create", "order.created", false},
    {"order.create", "order.creat", false},
    {"order.create", "", false},
    {"mine", "mine", true},
    {"mine", "mine.3", true},
    {"mine", "order.create.3", true},
    {"mine", "other.3", false},
    {"order.create", "order.cancel", false},
};

START_TEST(names_of_them)
{
    ck_assert_msg(create_queue_is(names[_i].first, slice_of(names[_i].name)) == names[_i].is, "%s where it is %s",
                  names[_i].name, names[_i].first);
}
END_TEST

START_TEST(named)
{
    struct conf conf = {.create_queue = "order.create", .create_queues = 16};
    char name[CREATE_QUEUE_NAME_MAX], longest[201], expected[CREATE_QUEUE_NAME_MAX];

    create_queue_name(&conf, 1, name);
    ck_assert_str_eq(name, "order.create");
    create_queue_of(&conf, 1, name);
    ck_assert_str_eq(name, "order.create.7");
    conf.create_queues = 1;
    create_queue_of(&conf, 1, name);
    ck_assert_str_eq(name, "order.create");
    memset(longest, 'q', 200);
    longest[200] = '\0';
    conf.create_queue = longest;
    create_queue_name(&conf, 16, name);
    snprintf(expected, sizeof expected, "%s.16", longest);
    ck_assert_str_eq(name, expected);
}
END_TEST

static const struct {
    const char *what;
    struct create_queues queues;
    int64_t by_queue[3], want;
} reaches[] = {
    {"nothing waits", {.used = 3, .count = 3}, {1, 2, 3}, INT64_MAX},
    {"one that is fast", {.used = 3, .count = 3, .waiting = {0, 0, 9}}, {1, 2, 3}, 3},
    {"the one farthest behind", {.used = 3, .count = 3, .waiting = {0, 4, 9}}, {1, 2, 3}, 2},
    {"one of which nothing is known", {.used = 3, .count = 3, .waiting = {1, 0, 0}}, {0, 2, 3}, 0},
    {"one that is not used any more", {.used = 2, .count = 3, .waiting = {0, 0, 1}}, {5, 6, 7}, 0},
    {"one that is not used any more, and empty", {.used = 2, .count = 3, .waiting = {1, 1, 0}}, {5, 6, 7}, 5},
};

START_TEST(reached)
{
    ck_assert_msg(create_queue_reached(&reaches[_i].queues, reaches[_i].by_queue) == reaches[_i].want, "%s",
                  reaches[_i].what);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("create_queue");
    TCase *tc = tcase_create("create_queue");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, chosen_as_published);
    tcase_add_test(tc, only_to_the_new_one);
    tcase_add_test(tc, spread);
    tcase_add_test(tc, named);
    tcase_add_loop_test(tc, names_of_them, 0, sizeof names / sizeof *names);
    tcase_add_loop_test(tc, reached, 0, sizeof reaches / sizeof *reaches);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
