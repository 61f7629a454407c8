/* What docs/payments.md tells about payments, cancellations and timers is what the tables say. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/order_transition.h"

#define CELLS_MAX 8

static char lines[400][600];
static int line_count;

static void read_manual(void)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/docs/payments.md", testing_env("ORDERD_SOURCE"));
    f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    line_count = 0;
    while (line_count < 400 && fgets(lines[line_count], sizeof lines[0], f))
        line_count++;
    ck_assert(feof(f));
    fclose(f);
}

/* The cells of a table's row, without blanks and grave accents; 0 where the line is none. */
static int split(const char *line, char cells[CELLS_MAX][400])
{
    int count = 0;

    if (line[0] != '|')
        return 0;
    for (const char *at = line + 1; *at && *at != '\n' && count < CELLS_MAX;) {
        size_t len = strcspn(at, "|\n"), from = 0, end = len;

        while (from < end && strchr(" `", at[from]))
            from++;
        while (end > from && strchr(" `", at[end - 1]))
            end--;
        ck_assert_uint_lt(end - from, sizeof cells[0]);
        memcpy(cells[count], at + from, end - from);
        cells[count++][end - from] = '\0';
        at += len + (at[len] == '|');
    }
    return count;
}

/* The first line of the table whose header begins with this cell. */
static int table_at(const char *first_cell)
{
    char cells[CELLS_MAX][400];

    for (int i = 0; i < line_count; i++) {
        if (split(lines[i], cells) > 1 && strcmp(cells[0], first_cell) == 0)
            return i;
    }
    ck_abort_msg("the manual has no table of %s", first_cell);
    return 0;
}

static bool to_standing(const char *name, enum order_standing *out)
{
    for (int s = 0; s < ORDER_STANDING_COUNT; s++) {
        if (strcmp(order_standing_name((enum order_standing)s), name) == 0) {
            *out = (enum order_standing)s;
            return true;
        }
    }
    return false;
}

static bool to_condition(const char *name, enum order_condition *out)
{
    for (int c = 0; c < ORDER_CONDITION_COUNT; c++) {
        if (strcmp(order_condition_name((enum order_condition)c), name) == 0) {
            *out = (enum order_condition)c;
            return true;
        }
    }
    return false;
}

/* Every pair once, with the outcome of the table. */
START_TEST(outcomes)
{
    char header[CELLS_MAX][400], cells[CELLS_MAX][400];
    bool seen[ORDER_CONDITION_COUNT][ORDER_STANDING_COUNT] = {{false}};
    int at, columns, pairs = 0;

    read_manual();
    at = table_at("asked \\ order is");
    columns = split(lines[at], header);
    ck_assert_int_eq(columns, ORDER_STANDING_COUNT + 1);
    for (int row = at + 2; split(lines[row], cells) == columns; row++) {
        enum order_condition condition;

        ck_assert_msg(to_condition(cells[0], &condition), "no such condition: %s", cells[0]);
        for (int i = 1; i < columns; i++) {
            enum order_standing standing;
            const char *verdict;

            ck_assert_msg(to_standing(header[i], &standing), "no such state: %s", header[i]);
            ck_assert_msg(!seen[condition][standing], "%s of %s stands twice", cells[0], header[i]);
            seen[condition][standing] = true;
            pairs++;
            verdict = reason_name(order_transition(condition, standing).verdict);
            ck_assert_msg(strcmp(cells[i], verdict) == 0, "%s of %s: the manual says %s, the table %s", cells[0],
                          header[i], cells[i], verdict);
        }
    }
    ck_assert_int_eq(pairs, ORDER_CONDITION_COUNT * ORDER_STANDING_COUNT);
}
END_TEST

static const char *const proses[] = {
#define X(condition, name, prose) prose,
#include "orderd/tbl/order_condition.h"
#undef X
};

START_TEST(conditions)
{
    char cells[CELLS_MAX][400];
    int at, count = 0;

    read_manual();
    at = table_at("asked");
    for (int row = at + 2; split(lines[row], cells) > 1; row++, count++) {
        enum order_condition condition;

        ck_assert_msg(to_condition(cells[0], &condition), "no such condition: %s", cells[0]);
        ck_assert_str_eq(cells[1], proses[condition]);
    }
    ck_assert_int_eq(count, ORDER_CONDITION_COUNT);
}
END_TEST

static const char *what_name(enum reason reason)
{
    switch (reason_what(reason)) {
    case REASON_WHAT_SETTLED:
        return "done";
    case REASON_WHAT_RETRY:
        return "retry";
    case REASON_WHAT_DEAD:
        return "dead";
    default:
        return "something else";
    }
}

/* What the table does where it says this verdict, told by words that the manual must have, and others that it must not.
 */
static void assert_prose(enum order_does does, const char *verdict, const char *prose)
{
    static const struct {
        enum order_does does;
        const char *word;
    } words[] = {
        {ORDER_DOES_APPLY, "`applied`, event `order.paid`"},
        {ORDER_DOES_REFUND, "`refund_due`, event `order.refund_due`"},
        {ORDER_DOES_MISMATCH, "`amount_mismatch`, event `order.refund_due`"},
        {ORDER_DOES_CLOSE, "Event `order.closed`"},
        {ORDER_DOES_REARM, "timer comes again"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg((strstr(prose, words[i].word) != NULL) == (words[i].does == does), "%s: %s", verdict, prose);
}

/* Every verdict once, with what it means for the message; and of none that cannot come. */
START_TEST(verdicts)
{
    char cells[CELLS_MAX][400];
    bool possible[REASON_COUNT] = {false}, seen[REASON_COUNT] = {false};
    enum order_does does[REASON_COUNT] = {ORDER_DOES_NOTHING};
    int at;

    for (int c = 0; c < ORDER_CONDITION_COUNT; c++) {
        for (int s = 0; s < ORDER_STANDING_COUNT; s++) {
            struct order_transition t = order_transition((enum order_condition)c, (enum order_standing)s);

            possible[t.verdict] = true;
            if (t.does != ORDER_DOES_NOTHING)
                does[t.verdict] = t.does;
        }
    }
    read_manual();
    at = table_at("outcome");
    for (int row = at + 2; split(lines[row], cells) == 3; row++) {
        enum reason reason = reason_of_name(cells[0]);

        ck_assert_msg(possible[reason], "%s cannot come of anything", cells[0]);
        ck_assert_msg(!seen[reason], "%s stands twice", cells[0]);
        seen[reason] = true;
        ck_assert_msg(strcmp(cells[1], what_name(reason)) == 0, "%s is %s, the manual says %s", cells[0],
                      what_name(reason), cells[1]);
        assert_prose(does[reason], cells[0], cells[2]);
    }
    for (int i = 0; i < REASON_COUNT; i++)
        ck_assert_msg(seen[i] == possible[i], "the manual does not tell of %s", reason_name((enum reason)i));
}
END_TEST

static const struct {
    enum order_condition condition;
    enum order_standing standing;
} rows[] = {
#define ORDER_STANDS_ANY                    ORDER_STANDING_COUNT
#define X(condition, stands, verdict, does) {ORDER_CONDITION_##condition, ORDER_STANDS_##stands},
#include "orderd/tbl/order_transition.h"
#undef X
};

/* No pair has two rows, of which one would never be looked at; each has one, or looking it up would end the process. */
START_TEST(one_row_for_each_pair)
{
    for (int c = 0; c < ORDER_CONDITION_COUNT; c++) {
        for (int s = 0; s < ORDER_STANDING_COUNT; s++) {
            int found = 0;

            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                found +=
                    (int)rows[i].condition == c && ((int)rows[i].standing == s || rows[i].standing == ORDER_STANDS_ANY);
            ck_assert_msg(found == 1, "%s of %s has %d rows", order_condition_name((enum order_condition)c),
                          order_standing_name((enum order_standing)s), found);
        }
    }
}
END_TEST

/* A final state is never left, and what has no row never becomes anything. */
START_TEST(final_is_final)
{
    for (int c = 0; c < ORDER_CONDITION_COUNT; c++) {
        for (int s = 0; s < ORDER_STANDING_COUNT; s++) {
            enum order_does does = order_transition((enum order_condition)c, (enum order_standing)s).does;

            if (s != ORDER_STANDS_PENDING)
                ck_assert(does != ORDER_DOES_APPLY && does != ORDER_DOES_CLOSE && does != ORDER_DOES_REARM);
            if (s == ORDER_STANDS_UNKNOWN)
                ck_assert_int_eq(does, ORDER_DOES_NOTHING);
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("order_transition");
    TCase *c = tcase_create("policy");

    tcase_add_test(c, one_row_for_each_pair);
    tcase_add_test(c, final_is_final);
    tcase_add_test(c, outcomes);
    tcase_add_test(c, conditions);
    tcase_add_test(c, verdicts);
    suite_add_tcase(s, c);
    return testing_main(s);
}
