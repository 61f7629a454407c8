/* What came of a letter, and which letters an order comes from, as `dlq show` and `order show` show it. */
#ifndef ORDERD_CTL_DLQ_MADE_H
#define ORDERD_CTL_DLQ_MADE_H

#include "dlq.h"
#include "orderd/dead_letter_made.h"

/* Members of an open object with --json, else lines: the body that is in force instead of the letter's own, and the
 * messages that were made of it. */
ORDERD_MUST_CHECK bool dlq_made_show(struct ctl *ctl, struct db *db, int64_t letter_id, struct strbuf *line,
                                     struct error *err);

/* "replay_of", or a line: the letter that this one is a replay of and died again, as its headers say. Nothing else
 * where they do not. */
void dlq_made_origin(struct ctl *ctl, const struct dead_letter_row *row, struct strbuf *line);

/* What an order has to do with this letter, in a few words. */
const char *dlq_made_relation(const struct dead_letter_of_order *letter);

/* "name" as text and "name_base64" as null, or the other way where it is no UTF-8. */
void dlq_made_record_bytes(struct strbuf *line, const char *name, struct slice bytes);

#endif
