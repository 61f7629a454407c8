/* The payments file. */
#include "bills.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lines.h"
#include "orderd/units.h"

#define HEAD "# order_no activity amount plan state\n"

static const char *const states[] = {[BILL_PLANNED] = "planned", [BILL_SENT] = "sent", [BILL_CLOSE] = "close"};

enum { ORDER_NO, ACTIVITY, AMOUNT, PLAN, STATE, WORDS };

void bills_write(FILE *file, const struct bills *bills, uint32_t index)
{
    const struct bill *b = &bills->list[index];

    fprintf(file, "%s %" PRId64 " %" PRId64 " %s %s\n", idset_text(&bills->ids, index), bills->activity, b->amount,
            bill_plan_row((enum bill_plan)b->plan)->name, states[b->state]);
}

static bool split(char *line, char *words[WORDS])
{
    char *rest = line;

    for (int i = 0; i < WORDS; i++) {
        words[i] = strsep(&rest, " ");
        if (!words[i])
            return false;
    }
    return rest == NULL;
}

/* false: neither a plan nor a state of these names. */
static bool read_step(char *words[WORDS], struct bill *out)
{
    int plan = 0, state = BILL_PLANNED;

    while (plan < BILL_PLANS && strcmp(words[PLAN], bill_plan_row((enum bill_plan)plan)->name) != 0)
        plan++;
    while (state <= BILL_CLOSE && strcmp(words[STATE], states[state]) != 0)
        state++;
    out->plan = (uint8_t)plan;
    out->state = (uint8_t)state;
    return plan < BILL_PLANS && state <= BILL_CLOSE;
}

/* false: not a line of ours. */
static bool take(struct bills *bills, char *line)
{
    char *words[WORDS];
    int64_t activity, amount;
    struct bill step = {0}, *b;
    uint32_t index;

    if (!split(line, words) || !order_no_valid(slice_of(words[ORDER_NO])) ||
        !units_parse_i64(words[ACTIVITY], 1, INT64_MAX, &activity) ||
        !units_parse_i64(words[AMOUNT], 0, ORDER_AMOUNT_MAX, &amount) || !read_step(words, &step))
        return false;
    if (activity != bills->activity) {
        lines_pass(&bills->passed, activity);
        return true;
    }
    index = bills_add(bills, slice_of(words[ORDER_NO]), amount); /* the list may move */
    b = &bills->list[index];
    b->plan = step.plan;
    b->state = step.state;
    b->after_sent = b->state != BILL_PLANNED && bill_plan_row((enum bill_plan)b->plan)->first == PUBLISH_ORDER;
    return true;
}

static bool read_lines(struct bills *bills, FILE *file, const char *path, struct error *err)
{
    char line[256];

    for (unsigned n = 1; fgets(line, sizeof line, file); n++) {
        size_t len = strlen(line);

        if (len > 0 && line[len - 1] != '\n' && feof(file) && lines_cut_head(line, n, HEAD))
            return true;
        if (len > 0 && line[len - 1] == '\n')
            line[len - 1] = '\0';
        if (line[0] != '#' && !take(bills, line))
            return error_set(err, ERROR_INPUT_INVALID, "%s:%u: not a line of a payments file", path, n);
        bills->passed.complete++;
    }
    return !ferror(file) || error_set(err, ERROR_IO, "cannot read %s: %s", path, strerror(errno));
}

bool bills_read(struct bills *bills, const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    bool ok;

    if (!file)
        return error_set(err, ERROR_IO, "cannot read %s: %s", path, strerror(errno));
    ok = read_lines(bills, file, path, err);
    fclose(file);
    return ok;
}

FILE *bills_open(const char *path, struct error *err)
{
    return lines_open(path, HEAD, err);
}
