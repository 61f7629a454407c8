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
