/* What the commands of `orderctl dlq` share. */
#ifndef ORDERD_CTL_DLQ_H
#define ORDERD_CTL_DLQ_H

#include "orderd/dead_letter_store.h"
#include "print.h"

enum tint dlq_tint(enum dead_letter_state state);

/* A cell or a member for an activity: none where it is not known (0). */
void dlq_table_activity(struct table *table, int64_t activity_id);
void dlq_record_activity(struct strbuf *line, int64_t activity_id);

#endif
