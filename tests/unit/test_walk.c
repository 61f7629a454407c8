/* What of the walk is pure: how far the create lanes have come, and what was seen twice. */
#include "testing.h"

#include "../../src/flow/walk/walk_private.h"

#define T0    INT64_C(1764400000000)
#define W     120000
#define RETRY 36000

static const struct {
    const char *what;
    struct walk_view view;
    int64_t want;
} frontiers[] = {
    {"the broker cannot be asked", {false, 0, T0, T0}, 0},
    {"the broker cannot be asked, whatever it said before", {false, 7, T0, T0 - 5000}, 0},
    {"nothing waits: all that is old enough", {true, 0, T0, T0 - 600000}, T0 - W - RETRY},
    {"nothing waits, and there never was an order", {true, 0, T0, 0}, T0 - W - RETRY},
    {"a backlog of ten minutes: what the lanes have behind them", {true, 1, T0, T0 - 600000}, T0 - 600000 - W - RETRY},
    {"messages wait, and not one became a row yet", {true, 50000, T0, 0}, 0},
    {"a clock that just began", {true, 0, W + RETRY, 0}, 0},
};

START_TEST(frontier)
{
    ck_assert_msg(walk_frontier(&frontiers[_i].view, W, RETRY) == frontiers[_i].want, "%s", frontiers[_i].what);
}
END_TEST

static struct balance_finding forfeited(int shard, int64_t epoch, int64_t seen, int64_t units)
{
    return (struct balance_finding){
        .kind = FINDING_FORFEITED_RECLAIMABLE, .shard = shard, .epoch = epoch, .seen = seen, .units = units};
}

struct look {
    struct balance_finding finding;
    int64_t may;
};

/* Each walk sees up to two shards; `may` is how many units go back. */
static const struct {
    const char *what;
    struct look walks[3][2];
} histories[] = {
    {"the same twice",
     {{{{.shard = 1, .epoch = 1, .seen = 5, .units = 3}, 0}}, {{{.shard = 1, .epoch = 1, .seen = 5, .units = 3}, 3}}}},
    {"fewer the second time",
     {{{{.shard = 1, .epoch = 1, .seen = 5, .units = 3}, 0}}, {{{.shard = 1, .epoch = 1, .seen = 5, .units = 2}, 2}}}},
    {"more the second time",
     {{{{.shard = 1, .epoch = 1, .seen = 5, .units = 3}, 0}}, {{{.shard = 1, .epoch = 1, .seen = 5, .units = 5}, 3}}}},
    {"the shard has changed",
     {{{{.shard = 1, .epoch = 1, .seen = 5, .units = 3}, 0}},
      {{{.shard = 1, .epoch = 1, .seen = 6, .units = 3}, 0}},
      {{{.shard = 1, .epoch = 1, .seen = 6, .units = 3}, 3}}}},
    {"another epoch",
     {{{{.shard = 1, .epoch = 1, .seen = 5, .units = 3}, 0}}, {{{.shard = 1, .epoch = 2, .seen = 5, .units = 3}, 0}}}},
    {"another shard",
     {{{{.shard = 1, .epoch = 1, .seen = 5, .units = 3}, 0}},
      {{{.shard = 2, .epoch = 1, .seen = 5, .units = 3}, 0}, {{.shard = 1, .epoch = 1, .seen = 5, .units = 3}, 3}}}},
    {"gone in between",
     {{{{.shard = 1, .epoch = 1, .seen = 5, .units = 3}, 0}},
      {{{.shard = 2, .epoch = 1, .seen = 5, .units = 3}, 0}},
      {{{.shard = 1, .epoch = 1, .seen = 5, .units = 3}, 0}}}},
};

START_TEST(seen_twice)
{
    struct memory *all = NULL;

    for (int walk = 0; walk < 3; walk++) {
        struct memory *m = memory_of(&all, 1001);

        memory_begin(m);
        for (int i = 0; i < 2; i++) {
            const struct look *look = &histories[_i].walks[walk][i];

            if (look->finding.epoch)
                ck_assert_msg(memory_note(m, &look->finding) == look->may, "%s, walk %d", histories[_i].what, walk + 1);
        }
        memory_end(m);
    }
    memory_free_all(&all);
}
END_TEST

/* A walk that was cut short saw nothing: what the whole one before saw still counts. */
START_TEST(half_a_walk_is_none)
{
    struct balance_finding f = forfeited(0, 1, 9, 4);
    struct memory *all = NULL, *m = memory_of(&all, 7);

    memory_begin(m);
    ck_assert_int_eq(memory_note(m, &f), 0);
    memory_begin(m); /* the first was not ended */
    ck_assert_int_eq(memory_note(m, &f), 0);
    memory_end(m);
    memory_begin(m);
    memory_begin(m);
    ck_assert_int_eq(memory_note(m, &f), 4);
    memory_free_all(&all);
    ck_assert(all == NULL);
}
END_TEST

START_TEST(memory_is_bounded)
{
    struct memory *all = NULL;
    struct balance_finding f = forfeited(0, 1, 9, 4);

    for (int64_t id = 1; id <= 10000; id++) {
        struct memory *m = memory_of(&all, id);

        memory_begin(m);
        (void)memory_note(m, &f);
        memory_end(m);
        ck_assert_ptr_eq(memory_of(&all, id), m);
        ck_assert_uint_le(HASH_COUNT(all), 4096);
    }
    memory_free_all(&all);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("walk");
    TCase *c = tcase_create("walk");

    tcase_add_loop_test(c, frontier, 0, sizeof frontiers / sizeof *frontiers);
    tcase_add_loop_test(c, seen_twice, 0, sizeof histories / sizeof *histories);
    tcase_add_test(c, half_a_walk_is_none);
    tcase_add_test(c, memory_is_bounded);
    suite_add_tcase(s, c);
    return testing_main(s);
}
