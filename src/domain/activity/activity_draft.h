/* What may be written down as an activity. Pure. */
#ifndef ORDERD_ACTIVITY_DRAFT_H
#define ORDERD_ACTIVITY_DRAFT_H

#include "orderd/activity_store.h"

/* The row that the draft stands for when it is written at this instant (in review, nothing sold); INPUT_INVALID with
 * what is wrong with it. */
ORDERD_MUST_CHECK bool activity_draft_row(const struct activity_draft *draft, int64_t created_at, struct activity *out,
                                          struct error *err);

/* Whether a row is the one of this draft, whatever became of it since; else REFUSED, naming what differs. */
ORDERD_MUST_CHECK bool activity_draft_is(const struct activity *wanted, const struct activity *there,
                                         struct error *err);

#endif
