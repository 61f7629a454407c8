/* What the commands of `orderctl dlq` share. */
#ifndef ORDERD_CTL_DLQ_H
#define ORDERD_CTL_DLQ_H

#include "orderd/dead_letter_store.h"
#include "table.h"

enum tint dlq_tint(enum dead_letter_state state);

/* A cell or a member for an activity: none where it is not known (0). */
void dlq_table_activity(struct table *table, int64_t activity_id);
void dlq_record_activity(struct strbuf *line, int64_t activity_id);

/* The members of a row, into an open object: from its id to its order number, which a listing and an export begin with;
 * and all without what only `show` shows. */
void dlq_record_facts(struct strbuf *line, const struct dead_letter_row *row);
void dlq_record(struct strbuf *line, const struct dead_letter_row *row);
void dlq_record_action(struct strbuf *line, const struct dead_letter_action *action); /* a whole object */

/* ---- letters that were named: operands, and for `-` the lines of standard input ---- */

struct dlq_ids {
    int64_t *list;
    size_t count, room;
};

/* In the order in which they were named, none twice. What is no id is a mistake, of the operands before anything is
 * read (exit code 64), of the input 65. */
ORDERD_MUST_CHECK bool dlq_ids_read(struct ctl *ctl, struct dlq_ids *out, struct error *err);
void dlq_ids_free(struct dlq_ids *ids);

/* ---- letters that were chosen (dlq_select.c): those that are named, or all that fit the options --state, --reason,
 * --queue, --activity, --order, --message-id, --since and --until, or where a command offers --all, all ---- */

struct dlq_selection {
    bool named, filtered, all; /* one of these at most; none: the command says what that means */
    struct dead_letter_filter filter;
    struct dlq_ids ids; /* named */
};

/* Reads command line and standard input, no server. needed: something must have been chosen. */
ORDERD_MUST_CHECK bool dlq_select(struct ctl *ctl, bool needed, struct dlq_selection *out, struct error *err);

/* --since and --until, by the database's clock. Before dlq_walk_next. */
ORDERD_MUST_CHECK bool dlq_select_times(struct ctl *ctl, struct db *db, struct dlq_selection *s, struct error *err);
void dlq_select_free(struct dlq_selection *s);

/* Two instants that were given; no time between them is a mistake. */
ORDERD_MUST_CHECK bool dlq_is_span(struct ctl *ctl, int64_t since, int64_t until, struct error *err);

/* Page by page. Named ones are not looked up: they may not be there. */
struct dlq_walk {
    const struct dlq_selection *of;
    const int64_t *ids; /* the page; until the next one */
    size_t count;
    bool end;
    size_t at; /* private from here */
    int64_t after;
    struct dlq_ids page;
};

ORDERD_MUST_CHECK bool dlq_walk_next(struct db *db, struct dlq_walk *walk, struct error *err);
void dlq_walk_end(struct dlq_walk *walk);

/* All of them at once into s->ids, 8 bytes each: what changes from then on adds nobody. */
ORDERD_MUST_CHECK bool dlq_select_now(struct ctl *ctl, struct db *db, struct dlq_selection *s, struct error *err);

/* Of a command that changes what it chooses: without --state only those in `from` are chosen. What is chosen by options
 * or --all is shown by --dry-run (by a command that has it) and done by --confirm N alone; the second call, after
 * dlq_select_now, refuses where another number than N would change. */
ORDERD_MUST_CHECK bool dlq_select_to_change(struct ctl *ctl, enum dead_letter_state from, struct dlq_selection *out,
                                            struct error *err);
ORDERD_MUST_CHECK bool dlq_select_confirmed(struct ctl *ctl, struct db *db, enum dead_letter_state from,
                                            const struct dlq_selection *s, struct error *err);

#endif
