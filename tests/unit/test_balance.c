/* What a difference between Redis and MySQL means, by table; and that the table of kinds is whole. */
#include "testing.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "orderd/balance.h"

#define W     1000
#define NEVER INT64_MAX

static const struct balance_window window = {.in_flight_ms = W, .recover_ms = 2 * W};

/* An old reservation that nobody has heard of, past which the lanes are: what the rows below change. */
#define LEDGER .held = BALANCE_HELD, .held_age_ms = 9 * W, .worked_to = true, .sent_age_ms = NEVER, .same = true
#define ROW(status_)                                                                                                   \
    .has_row = true, .status = ORDER_##status_, .same = true, .decided_age_ms = 9 * W, .current_epoch = true
#define HELD(status_)                                                                                                  \
    LEDGER, .has_row = true, .status = ORDER_##status_, .decided_age_ms = 9 * W, .mark = BALANCE_MARK_OWN
#define GONE(word) .gone = STOCK_GONE_##word, .mark = BALANCE_MARK_OWN, .sent_age_ms = NEVER

/* A row says only what it changes. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"

static const struct {
    const char *what;
    struct balance_case c;
    enum finding_kind kind;
} cases[] = {
    /* held, no row */
    {"old", {LEDGER}, FINDING_LOST_MESSAGE},
    {"young", {LEDGER, .held_age_ms = W - 1}, FINDING_IN_FLIGHT},
    {"just W old", {LEDGER, .held_age_ms = W}, FINDING_LOST_MESSAGE},
    {"its clock is ahead of ours", {LEDGER, .held_age_ms = -5 * W}, FINDING_IN_FLIGHT},
    {"the lanes are not there yet", {LEDGER, .worked_to = false}, FINDING_BACKLOG},
    {"young and the lanes behind", {LEDGER, .held_age_ms = 1, .worked_to = false}, FINDING_IN_FLIGHT},
    {"its message was sent late", {LEDGER, .sent_age_ms = W - 1}, FINDING_IN_FLIGHT},
    {"sent late, and long ago", {LEDGER, .sent_age_ms = W}, FINDING_LOST_MESSAGE},
    {"message waits", {LEDGER, .message = BALANCE_MESSAGE_PENDING}, FINDING_MESSAGE_WAITING},
    {"message given up", {LEDGER, .message = BALANCE_MESSAGE_QUARANTINED}, FINDING_MESSAGE_QUARANTINED},
    {"young, message given up",
     {LEDGER, .held_age_ms = 0, .message = BALANCE_MESSAGE_QUARANTINED},
     FINDING_MESSAGE_QUARANTINED},
    {"sent again a moment ago", {LEDGER, .recoveries = 1, .sent_age_ms = 2 * W - 1}, FINDING_RECOVERING},
    {"sent again, lost again", {LEDGER, .recoveries = 1, .sent_age_ms = 2 * W}, FINDING_LOST_MESSAGE},
    {"the second wait is twice as long", {LEDGER, .recoveries = 2, .sent_age_ms = 4 * W - 1}, FINDING_RECOVERING},
    {"and ends", {LEDGER, .recoveries = 2, .sent_age_ms = 4 * W}, FINDING_LOST_MESSAGE},
    {"the third one too", {LEDGER, .recoveries = 3, .sent_age_ms = 8 * W - 1}, FINDING_RECOVERING},
    {"then it is over", {LEDGER, .recoveries = 3, .sent_age_ms = 8 * W}, FINDING_UNRECOVERABLE},
    {"more often than allowed", {LEDGER, .recoveries = 1000000, .sent_age_ms = NEVER - 1}, FINDING_UNRECOVERABLE},
    {"never given up while it may wait in a queue",
     {LEDGER, .recoveries = 3, .sent_age_ms = 99 * W, .worked_to = false},
     FINDING_RECOVERING},
    {"sent again and waiting", {LEDGER, .recoveries = 3, .message = BALANCE_MESSAGE_PENDING}, FINDING_MESSAGE_WAITING},

    /* held, with a row */
    {"pending", {HELD(PENDING)}, FINDING_NONE},
    {"pending, mark unread", {HELD(PENDING), .mark = BALANCE_MARK_UNREAD}, FINDING_NONE},
    {"pending, no mark", {HELD(PENDING), .mark = BALANCE_MARK_NONE}, FINDING_MARK_MISSING},
    {"pending, another's mark", {HELD(PENDING), .mark = BALANCE_MARK_OTHER}, FINDING_MARK_TAKEN},
    {"paid just now", {HELD(PAID), .decided_age_ms = W - 1}, FINDING_EFFECT_WAITING},
    {"paid", {HELD(PAID)}, FINDING_SETTLE_DUE},
    {"closed just now", {HELD(CLOSED), .decided_age_ms = 0}, FINDING_EFFECT_WAITING},
    {"closed", {HELD(CLOSED)}, FINDING_RETURN_DUE},
    {"rejected just now", {HELD(REJECTED), .decided_age_ms = 0}, FINDING_EFFECT_WAITING},
    {"rejected", {HELD(REJECTED), .decided_age_ms = W}, FINDING_RETURN_DUE},
    {"another purchase", {HELD(PENDING), .same = false}, FINDING_OTHER_CONTENT},
    {"another purchase, closed: foreign units stay", {HELD(CLOSED), .same = false}, FINDING_OTHER_CONTENT},
    {"no format of ours", {HELD(PENDING), .held = BALANCE_HELD_DAMAGED}, FINDING_LEDGER_DAMAGED},
    {"in both hashes", {HELD(PENDING), .gone = STOCK_GONE_RETURNED}, FINDING_LEDGER_DAMAGED},
    {"in both hashes, no row", {LEDGER, .gone = STOCK_GONE_REFUSED}, FINDING_LEDGER_DAMAGED},

    /* live, not held */
    {"pending, unknown", {ROW(PENDING)}, FINDING_UNKNOWN_RESERVATION},
    {"paid, unknown", {ROW(PAID)}, FINDING_UNKNOWN_RESERVATION},
    {"unknown, of an older epoch", {ROW(PENDING), .current_epoch = false}, FINDING_UNKNOWN_RESERVATION},
    {"paid and sold", {ROW(PAID), GONE(SOLD)}, FINDING_NONE},
    {"paid and sold, no mark", {ROW(PAID), GONE(SOLD), .mark = BALANCE_MARK_NONE}, FINDING_MARK_MISSING},
    {"pending and sold", {ROW(PENDING), GONE(SOLD)}, FINDING_SOLD_NOT_PAID},
    {"pending and returned", {ROW(PENDING), GONE(RETURNED)}, FINDING_RETURNED_BUT_LIVE},
    {"pending and forfeited", {ROW(PENDING), GONE(FORFEITED)}, FINDING_RETURNED_BUT_LIVE},
    {"pending and refused", {ROW(PENDING), GONE(REFUSED)}, FINDING_RETURNED_BUT_LIVE},
    {"paid and returned", {ROW(PAID), GONE(RETURNED)}, FINDING_RETURNED_BUT_LIVE},
    {"live in no shard", {ROW(PENDING), .wrong_shard = true}, FINDING_WRONG_SHARD},
    {"paid in no shard", {ROW(PAID), .wrong_shard = true}, FINDING_WRONG_SHARD},
    {"closed in no shard", {ROW(CLOSED), .wrong_shard = true}, FINDING_NONE},

    /* closed or rejected, not held */
    {"closed and returned", {ROW(CLOSED), GONE(RETURNED)}, FINDING_NONE},
    {"rejected and forfeited", {ROW(REJECTED), GONE(FORFEITED)}, FINDING_NONE},
    {"rejected and refused", {ROW(REJECTED), GONE(REFUSED)}, FINDING_NONE},
    {"closed and sold", {ROW(CLOSED), GONE(SOLD)}, FINDING_SOLD_NOT_PAID},
    {"rejected and sold", {ROW(REJECTED), GONE(SOLD)}, FINDING_SOLD_NOT_PAID},
    {"closed, no trace", {ROW(CLOSED)}, FINDING_RETURN_FORGOTTEN},
    {"rejected, no trace", {ROW(REJECTED)}, FINDING_RETURN_FORGOTTEN},
    {"closed just now, no trace", {ROW(CLOSED), .decided_age_ms = W - 1}, FINDING_EFFECT_WAITING},
    {"closed, before a rebuild", {ROW(CLOSED), .current_epoch = false}, FINDING_NONE},
    {"may not buy again, mark stands", {ROW(CLOSED), GONE(RETURNED), .keeps_mark = true}, FINDING_NONE},
    {"may not buy again, another's mark",
     {ROW(CLOSED), GONE(RETURNED), .keeps_mark = true, .mark = BALANCE_MARK_OTHER},
     FINDING_NONE},
    {"may not buy again, mark gone",
     {ROW(CLOSED), GONE(RETURNED), .keeps_mark = true, .mark = BALANCE_MARK_NONE},
     FINDING_MARK_MISSING},
    {"may not buy again, before a rebuild",
     {ROW(CLOSED), .current_epoch = false, .keeps_mark = true, .mark = BALANCE_MARK_NONE},
     FINDING_MARK_MISSING},
    {"may buy again, mark gone", {ROW(CLOSED), GONE(RETURNED), .mark = BALANCE_MARK_NONE}, FINDING_NONE},

    /* neither row nor reservation */
    {"nothing at all", {.sent_age_ms = NEVER}, FINDING_NONE},
    {"refused, no row", {GONE(REFUSED)}, FINDING_NONE},
    {"returned, no row", {GONE(RETURNED)}, FINDING_NONE},
    {"sold, no row", {GONE(SOLD)}, FINDING_SOLD_NOT_PAID},
};

#pragma GCC diagnostic pop

START_TEST(classify)
{
    enum finding_kind kind = balance_classify(&cases[_i].c, &window);

    ck_assert_msg(kind == cases[_i].kind, "%s: %s instead of %s", cases[_i].what, finding_name(kind),
                  finding_name(cases[_i].kind));
}
END_TEST

/* A window that leaves the recovery to its defaults. */
START_TEST(defaults)
{
    struct balance_case c = {.held = BALANCE_HELD, .held_age_ms = 9 * W, .worked_to = true, .recoveries = 2};
    struct balance_window plain = {.in_flight_ms = W};

    c.sent_age_ms = 2 * W; /* waits W, then 2 W */
    ck_assert_int_eq(balance_classify(&c, &plain), FINDING_LOST_MESSAGE);
    c.sent_age_ms--;
    ck_assert_int_eq(balance_classify(&c, &plain), FINDING_RECOVERING);
    plain.recover_max = 2;
    c.sent_age_ms++;
    ck_assert_int_eq(balance_classify(&c, &plain), FINDING_UNRECOVERABLE);
}
END_TEST

START_TEST(kinds_are_whole)
{
    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++) {
        enum finding_kind k = (enum finding_kind)kind;
        const char *name = finding_name(k);

        for (const char *c = name; *c; c++)
            ck_assert_msg(islower((unsigned char)*c) || *c == '_', "%s", name);
        ck_assert_msg(strlen(finding_sentence(k)) > 10 && strlen(finding_mends(k)) > 10, "%s", name);
        ck_assert_int_lt((int)strlen(name), 28);
        for (int other = FINDING_NONE + 1; other < kind; other++)
            ck_assert_str_ne(name, finding_name((enum finding_kind)other));
    }
    ck_assert_str_eq(finding_name(FINDING_NONE), "");
    ck_assert_str_eq(finding_mender_name(finding_mender(FINDING_LOST_MESSAGE)), "walk");
    ck_assert_int_eq(finding_about(FINDING_SHARD_MISSING), FINDING_ABOUT_SHARD);
}
END_TEST

/* docs/reconcile.md explains each kind, and says right who mends it. */
START_TEST(kinds_are_documented)
{
    static char text[65536];
    char path[512], row[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/docs/reconcile.md", testing_env("ORDERD_SOURCE"));
    f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++) {
        enum finding_kind k = (enum finding_kind)kind;

        snprintf(row, sizeof row, "\n| `%s` | %s | ", finding_name(k), finding_mender_name(finding_mender(k)));
        ck_assert_msg(strstr(text, row), "%s", row);
    }
}
END_TEST

START_TEST(verdicts)
{
    struct balance_report r = {0};

    ck_assert_int_eq(balance_verdict(&r), BALANCE_CLEAN);
    r.by_kind[FINDING_IN_FLIGHT].findings = 5;
    ck_assert_int_eq(balance_verdict(&r), BALANCE_EXPLAINED);
    ck_assert_int_eq(balance_gaps(&r), 0);
    r.by_kind[FINDING_LOST_MESSAGE].findings = 2;
    ck_assert_int_eq(balance_verdict(&r), BALANCE_EXPLAINED);
    ck_assert_int_eq(balance_gaps(&r), 2);
    ck_assert_int_eq(balance_findings(&r), 7);
    r.by_kind[FINDING_DB_UNBALANCED].findings = 1;
    ck_assert_int_eq(balance_verdict(&r), BALANCE_BROKEN);
    r.by_kind[FINDING_DB_UNBALANCED].findings = 0;
    r.by_kind[FINDING_OVERSOLD].findings = 1;
    ck_assert_int_eq(balance_verdict(&r), BALANCE_BROKEN);
    ck_assert_str_eq(balance_verdict_name(BALANCE_BROKEN), "broken");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("balance");
    TCase *tc = tcase_create("balance");

    tcase_add_loop_test(tc, classify, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tc, defaults);
    tcase_add_test(tc, kinds_are_whole);
    tcase_add_test(tc, kinds_are_documented);
    tcase_add_test(tc, verdicts);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
