/* What the commands of `orderctl outbox` share. */
#ifndef ORDERD_CTL_OUTBOX_H
#define ORDERD_CTL_OUTBOX_H

#include "orderd/local_message_admin.h"
#include "table.h"

enum tint outbox_tint(enum local_message_state state);

/* The members of a row, without what only `show` shows, into an open object. */
void outbox_record(struct strbuf *line, const struct local_message_row *row);

/* How long until a moment; negative: since. */
int64_t outbox_until(const struct local_message_row *row, int64_t moment);

/* The value of an option of type PAST as ms since 1970, by the database's clock `now`; 0 where it was not given. */
int64_t outbox_instant(const struct ctl_value *value, int64_t now);

/* The text of an option, ptr NULL where it was not given. */
struct slice outbox_text(const struct ctl_value *value);

/* ---- rows that were named: operands, and for `-` the lines of standard input ---- */

struct outbox_names {
    struct local_message_ref *list; /* keys are owned */
    size_t count, room;
};

ORDERD_MUST_CHECK bool outbox_names_read(const struct ctl *ctl, struct outbox_names *out, struct error *err);
void outbox_names_free(struct outbox_names *names);

/* "message 17", "message \"order.create:1\"" */
#define OUTBOX_NAME_TEXT 160
const char *outbox_name_text(char out[OUTBOX_NAME_TEXT], const struct local_message_ref *name);

/* ---- rows that were chosen ---- */

struct outbox_picks {
    struct local_message_pick *list;
    size_t count, room;
};

void outbox_picks_add(struct outbox_picks *picks, int64_t id, enum local_message_state state);
void outbox_picks_sort(struct outbox_picks *picks); /* by id, none twice */
void outbox_picks_free(struct outbox_picks *picks);

/* Each of names is either found or missing, in their order. */
typedef void (*outbox_missing_fn)(void *arg, const struct local_message_ref *name);
typedef void (*outbox_found_fn)(void *arg, const struct local_message_ref *name, const struct local_message_row *row);
ORDERD_MUST_CHECK bool outbox_find(struct db *db, const struct outbox_names *names, outbox_found_fn on_found,
                                   outbox_missing_fn on_missing, void *arg, struct error *err);

#endif
