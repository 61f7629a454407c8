#include "dlq.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/units.h"
#include "record.h"

enum tint dlq_tint(enum dead_letter_state state)
{
    static const enum tint tints[DEAD_LETTER_STATE_COUNT] = {
        [DEAD_LETTER_OPEN] = TINT_BAD,
        [DEAD_LETTER_REPLAYED] = TINT_CHANGED,
        [DEAD_LETTER_RESOLVED] = TINT_GOOD,
        [DEAD_LETTER_DISCARDED] = TINT_DIM,
    };

    return tints[state];
}

void dlq_table_activity(struct table *table, int64_t activity_id)
{
    if (activity_id)
        table_number(table, activity_id);
    else
        table_text(table, "-", TINT_DIM);
}

void dlq_record_activity(struct strbuf *line, int64_t activity_id)
{
    if (activity_id)
        record_number(line, "activity", activity_id);
    else
        record_null(line, "activity");
}

void dlq_record(struct strbuf *line, const struct dead_letter_row *row)
{
    record_number(line, "id", row->id);
    record_text(line, "state", dead_letter_state_name(row->state));
    record_slice(line, "reason", row->reason);
    record_slice(line, "detail", row->detail);
    record_slice(line, "queue", row->queue);
    dlq_record_activity(line, row->activity_id);
    record_slice(line, "order_no", row->order_no);
    record_slice(line, "message_id", row->message_id);
    record_number(line, "attempts", row->attempts);
    record_number(line, "deaths", row->times);
    record_time(line, "died_at", row->died_at);
    record_number(line, "died_ago_ms", row->now - row->died_at);
    record_time(line, "taken_at", row->taken_at);
    record_number(line, "body_bytes", row->body_bytes);
}

void dlq_record_action(struct strbuf *line, const struct dead_letter_action *action)
{
    record_open(line, NULL, '{');
    record_number(line, "letter", action->letter_id);
    record_time(line, "done_at", action->done_at);
    record_slice(line, "action", action->action);
    record_slice(line, "who", action->who);
    record_slice(line, "note", action->note);
    record_close(line, '}');
}

/* ---- names ---- */

void dlq_ids_add(struct dlq_ids *ids, int64_t id)
{
    if (ids->count == ids->room) {
        ids->room = ids->room ? ids->room * 2 : 64;
        ids->list = check_realloc(ids->list, ids->room * sizeof *ids->list);
    }
    ids->list[ids->count++] = id;
}

static bool add_id(struct dlq_ids *ids, const char *text, size_t len)
{
    int64_t id;

    if (strlen(text) != len || !units_parse_i64(text, 1, INT64_MAX, &id))
        return false;
    dlq_ids_add(ids, id);
    return true;
}

static bool read_lines(const struct ctl *ctl, struct dlq_ids *ids, struct error *err)
{
    char *line = NULL;
    size_t room = 0, len;
    ssize_t n;
    bool ok = true;

    if (isatty(STDIN_FILENO))
        print_note(ctl, "reading ids from the terminal, one a line; ^D ends them");
    errno = 0;
    while (ok && (n = getline(&line, &room, stdin)) >= 0) {
        len = (size_t)n;
        while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
            line[--len] = '\0';
        ok = len == 0 || add_id(ids, line, len) ||
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
    bool ok = none_is_wrong(ctl, err);

    for (size_t i = 0; i < ctl->operand_count && ok; i++) {
        if (strcmp(ctl->operands[i], "-") == 0)
            ok = read_lines(ctl, out, err);
        else
            ok = add_id(out, ctl->operands[i], strlen(ctl->operands[i]));
    }
    return ok;
}

void dlq_ids_free(struct dlq_ids *ids)
{
    free(ids->list);
}
