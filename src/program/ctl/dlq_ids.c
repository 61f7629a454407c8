/* Letters by their ids: operands, and lines of standard input. */
#include "dlq.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/units.h"
#include "tally.h"

struct naming {
    struct dlq_ids *ids;
    struct tally *met; /* ids, so that a letter that is named twice is meant once */
};

static void add(struct dlq_ids *ids, int64_t id)
{
    if (ids->count == ids->room) {
        ids->room = ids->room ? ids->room * 2 : 64;
        ids->list = check_realloc(ids->list, ids->room * sizeof *ids->list);
    }
    ids->list[ids->count++] = id;
}

static bool add_text(struct naming *n, const char *text, size_t len)
{
    int64_t id;

    if (strlen(text) != len || !units_parse_i64(text, 1, INT64_MAX, &id))
        return false;
    if (tally_add(&n->met, (struct slice){(const char *)&id, sizeof id}) == 1)
        add(n->ids, id);
    return true;
}

static bool read_lines(const struct ctl *ctl, struct naming *n, struct error *err)
{
    char *line = NULL;
    size_t room = 0, len;
    ssize_t got;
    bool ok = true;

    if (isatty(STDIN_FILENO))
        print_note(ctl, "reading ids from the terminal, one a line; ^D ends them");
    errno = 0;
    while (ok && (got = getline(&line, &room, stdin)) >= 0) {
        len = (size_t)got;
        while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
            line[--len] = '\0';
        ok = len == 0 || add_text(n, line, len) ||
             error_set(err, ERROR_INPUT_INVALID, "standard input has a line that is no id of a letter");
    }
    free(line);
    return ok && (!ferror(stdin) || error_set(err, ERROR_IO, "cannot read standard input: %s", strerror(errno)));
}

static bool none_is_wrong(struct ctl *ctl, struct error *err)
{
    int64_t id;

    for (size_t i = 0; i < ctl->operand_count; i++) {
        if (strcmp(ctl->operands[i], "-") != 0 && !units_parse_i64(ctl->operands[i], 1, INT64_MAX, &id))
            return ctl_misuse(ctl, err, "\"%.60s\" is no id of a letter; `orderctl dlq list` shows them",
                              ctl->operands[i]);
    }
    return true;
}

bool dlq_ids_read(struct ctl *ctl, struct dlq_ids *out, struct error *err)
{
    struct naming n = {.ids = out};
    bool ok = none_is_wrong(ctl, err);

    for (size_t i = 0; i < ctl->operand_count && ok; i++) {
        if (strcmp(ctl->operands[i], "-") == 0)
            ok = read_lines(ctl, &n, err);
        else
            ok = add_text(&n, ctl->operands[i], strlen(ctl->operands[i]));
    }
    tally_free(&n.met);
    return ok;
}

void dlq_ids_free(struct dlq_ids *ids)
{
    free(ids->list);
}
