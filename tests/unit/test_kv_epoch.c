/* Which of several Sentinels is behind. */
#include "testing.h"

#include "../../src/client/kv/kv_epoch.h"

/* What is said when, of whose primary, and whether that is behind. */
static const struct {
    const char *whose;
    int64_t epoch, at_ms;
    bool behind;
    int64_t newest;
} said[] = {
    {"sale", 0, 0, false, 0}, /* before the first failover */
    {"sale", 0, 1000, false, 0},
    {"sale", 1, 2000, false, 1},
    {"sale", 0, 2001, true, 1},
    {"sale", 1, 3000, false, 1},
    {"sale", 5, 4000, false, 5},
    {"sale", 4, 5000, true, 5},
    {"sale", 1, 4000 + KV_EPOCH_KEPT_MS - 1, true, 5}, /* being behind does not lengthen it */
    {"sale", 5, 4000 + KV_EPOCH_KEPT_MS - 1, false, 5},
    {"sale", 2, 4000 + KV_EPOCH_KEPT_MS, true, 5},
    {"sale", 2, 4000 + 2 * KV_EPOCH_KEPT_MS - 2, true, 5},
    {"sale", 2, 4000 + 2 * KV_EPOCH_KEPT_MS - 1, false, 2}, /* nobody knows of 5 any more */
    {"sale", 1, 4000 + 2 * KV_EPOCH_KEPT_MS, true, 2},
    {"other", 0, 4000 + 2 * KV_EPOCH_KEPT_MS, false, 0},
    {"other", -1, 4000 + 2 * KV_EPOCH_KEPT_MS, true, 0},
};

START_TEST(a_lower_epoch_is_behind)
{
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        int64_t newest;

        ck_assert_msg(kv_epoch_is_behind(said[i].whose, said[i].epoch, said[i].at_ms, &newest) == said[i].behind,
                      "row %zu", i);
        ck_assert_msg(newest == said[i].newest, "row %zu: %d", i, (int)newest);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kv_epoch");
    TCase *t = tcase_create("kv_epoch");

    tcase_add_test(t, a_lower_epoch_is_behind);
    suite_add_tcase(s, t);
    return testing_main(s);
}
