#include "dlq.h"

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

void dlq_record_facts(struct strbuf *line, const struct dead_letter_row *row)
{
    record_number(line, "id", row->id);
    record_text(line, "state", dead_letter_state_name(row->state));
    record_slice(line, "reason", row->reason);
    record_slice(line, "detail", row->detail);
    record_slice(line, "queue", row->queue);
    dlq_record_activity(line, row->activity_id);
    record_slice(line, "order_no", row->order_no);
}

void dlq_record(struct strbuf *line, const struct dead_letter_row *row)
{
    dlq_record_facts(line, row);
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
