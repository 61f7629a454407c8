/* The file of accepted orders. */
#include "book.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "orderd/check.h"
#include "orderd/units.h"

static const char *const hows[] = {
    [BOOK_NOT_ACCEPTED] = "", [BOOK_RESERVED] = "reserved", [BOOK_SILENT] = "silent", [BOOK_FILLED] = "filled"};

#define HEAD "# order_no activity user user_seq quantity amount shard epoch reserved_at how\n"

void book_write(FILE *file, const struct book *book, uint32_t index)
{
    const struct book_entry *e = &book->entries[index];

    fprintf(file, "%s %" PRId64 " %" PRId64 " %u %d %" PRId64 " %u %d %" PRId64 " %s\n", idset_text(&book->ids, index),
            book->activity, e->user, e->user_seq, e->quantity, e->amount, e->shard, e->epoch, e->reserved_at,
            hows[e->how]);
}

static enum book_how how_of(const char *word)
{
    for (int how = BOOK_RESERVED; how <= BOOK_FILLED; how++) {
        if (strcmp(word, hows[how]) == 0)
            return (enum book_how)how;
    }
    return BOOK_NOT_ACCEPTED;
}

enum { ORDER_NO, ACTIVITY, USER, USER_SEQ, QUANTITY, AMOUNT, SHARD, EPOCH, RESERVED_AT, HOW, WORDS };

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

static bool number(char *words[WORDS], int word, int64_t min, int64_t max, int64_t *out)
{
    return units_parse_i64(words[word], min, max, out);
}

/* false: not a line of ours. */
static bool parse(char *line, int64_t *activity, struct order *order, enum book_how *how)
{
    char *words[WORDS];
    int64_t seq, quantity, shard, epoch;

    if (!split(line, words) || !order_no_valid(slice_of(words[ORDER_NO])) ||
        !number(words, ACTIVITY, 1, INT64_MAX, activity) || !number(words, USER, 1, INT64_MAX, &order->user_id) ||
        !number(words, USER_SEQ, 0, ORDER_USER_SEQ_MAX, &seq) ||
        !number(words, QUANTITY, 1, ORDER_QUANTITY_MAX, &quantity) ||
        !number(words, AMOUNT, 0, ORDER_AMOUNT_MAX, &order->amount) ||
        !number(words, SHARD, 0, ORDER_SHARD_MAX, &shard) || !number(words, EPOCH, 1, ORDER_EPOCH_MAX, &epoch) ||
        !number(words, RESERVED_AT, ORDER_RESERVED_AT_MIN, ORDER_RESERVED_AT_MAX, &order->reserved_at))
        return false;
    memcpy(order->order_no, words[ORDER_NO], strlen(words[ORDER_NO]) + 1);
    order->user_seq = (int32_t)seq;
    order->quantity = (int32_t)quantity;
    order->shard = (int32_t)shard;
    order->epoch = (int32_t)epoch;
    *how = how_of(words[HOW]);
    return *how != BOOK_NOT_ACCEPTED;
}

static bool read_lines(struct book *book, FILE *file, const char *path, struct error *err)
{
    char line[512];

    for (unsigned n = 1; fgets(line, sizeof line, file); n++) {
        size_t len = strlen(line);
        struct order order = {0};
        int64_t activity = 0;
        enum book_how how;

        if (len > 0 && line[len - 1] != '\n' && feof(file) && lines_cut_head(line, n, HEAD))
            return true;
        if (len > 0 && line[len - 1] == '\n')
            line[len - 1] = '\0';
        if (line[0] != '#' && !parse(line, &activity, &order, &how))
            return error_set(err, ERROR_INPUT_INVALID, "%s:%u: not a line of an ids file", path, n);
        book->passed.complete++;
        if (line[0] == '#')
            continue;
        if (activity == book->activity)
            (void)book_accept(book, &order, how); /* one that stands in two files is the same order */
        else
            lines_pass(&book->passed, activity);
    }
    return !ferror(file) || error_set(err, ERROR_IO, "cannot read %s: %s", path, strerror(errno));
}

bool book_read(struct book *book, const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    bool ok;

    if (!file)
        return error_set(err, ERROR_IO, "cannot read %s: %s", path, strerror(errno));
    ok = read_lines(book, file, path, err);
    fclose(file);
    return ok;
}

FILE *book_open(const char *path, struct error *err)
{
    return lines_open(path, HEAD, err);
}
