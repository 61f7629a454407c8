/* The audit of the dead letters: who did what, when and why. */
#include "dead_letter_row.h"

#include <inttypes.h>
#include <string.h>

struct recounting {
    dead_letter_action_fn on_action;
    void *arg;
    size_t rows;
    int64_t last;
};

static bool take_action(void *arg, const struct slice *c, unsigned count)
{
    struct recounting *r = arg;
    struct dead_letter_action a = {.action = c[3], .who = c[4], .note = c[5]};

    if (count != 6 || !db_column_i64(c[0], &a.id) || !db_column_i64(c[1], &a.letter_id) ||
        !db_column_i64(c[2], &a.done_at))
        return false;
    r->rows++;
    r->last = a.id;
    r->on_action(r->arg, &a);
    return true;
}

/* A name without a host is that of all who bear it. */
static void add_who(const struct db *db, struct strbuf *sql, struct slice who)
{
    if (memchr(who.ptr, '@', who.len)) {
        strbuf_add_str(sql, " AND who=");
        db_add_quoted(db, sql, who);
        return;
    }
    strbuf_add_str(sql, " AND SUBSTRING_INDEX(who,'@',1)=");
    db_add_quoted(db, sql, who);
}

static void add_filter(const struct db *db, struct strbuf *sql, const struct dead_letter_action_filter *f)
{
    if (f->letters)
        dead_letter_add_ids(sql, "letter_id", f->letters, f->letter_count);
    if (f->who.ptr)
        add_who(db, sql, f->who);
    if (f->action.ptr) {
        strbuf_add_str(sql, " AND action=");
        db_add_quoted(db, sql, f->action);
    }
    dead_letter_add_time(sql, "done_at>=", f->since);
    dead_letter_add_time(sql, "done_at<", f->until);
}

bool dead_letter_actions(struct db *db, const struct dead_letter_action_filter *filter, int64_t *after, size_t max,
                         dead_letter_action_fn on_action, void *arg, bool *end, struct error *err)
{
    struct recounting recounting = {.on_action = on_action, .arg = arg, .last = *after};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT id,letter_id,TIMESTAMPDIFF(MICROSECOND,'1970-01-01',done_at) DIV 1000,action,who,note "
                "FROM dead_letter_action WHERE id>%" PRId64,
                *after);
    add_filter(db, &sql, filter);
    strbuf_addf(&sql, " ORDER BY id LIMIT %zu", max);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_action, &recounting, err);
    strbuf_release(&sql);
    *end = recounting.rows < max;
    *after = recounting.last;
    return ok;
}

bool dead_letter_actions_last(struct db *db, const struct dead_letter_action_filter *filter, int64_t max,
                              int64_t *after, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    int64_t first;
    bool ok;

    strbuf_add_str(&sql, "SELECT COALESCE(MIN(id),1) FROM (SELECT id FROM dead_letter_action WHERE TRUE");
    add_filter(db, &sql, filter);
    strbuf_addf(&sql, " ORDER BY id DESC LIMIT %" PRId64 ") latest", max);
    ok = db_query_i64(db, (struct slice){sql.data, sql.len}, 0, &first, err);
    strbuf_release(&sql);
    *after = ok ? first - 1 : 0;
    return ok;
}
