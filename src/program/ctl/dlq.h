/* What the commands of `orderctl dlq` share. */
#ifndef ORDERD_CTL_DLQ_H
#define ORDERD_CTL_DLQ_H

#include "orderd/dead_letter_store.h"
#include "print.h"

enum tint dlq_tint(enum dead_letter_state state);

/* A cell or a member for an activity: none where it is not known (0). */
void dlq_table_activity(struct table *table, int64_t activity_id);
void dlq_record_activity(struct strbuf *line, int64_t activity_id);

/* The members of a row, without what only `show` shows, into an open object. */
void dlq_record(struct strbuf *line, const struct dead_letter_row *row);
void dlq_record_action(struct strbuf *line, const struct dead_letter_action *action); /* a whole object */

/* ---- letters that were named: operands, and for `-` the lines of standard input ---- */

struct dlq_ids {
    int64_t *list;
    size_t count, room;
};

/* What is no id is a mistake, of the operands before anything is read (exit code 64), of the input 65. */
ORDERD_MUST_CHECK bool dlq_ids_read(struct ctl *ctl, struct dlq_ids *out, struct error *err);
void dlq_ids_add(struct dlq_ids *ids, int64_t id);
void dlq_ids_free(struct dlq_ids *ids);

#endif
