#include "orderd/survey_store.h"

#include <stdio.h>
#include <string.h>

#include "orderd/local_message.h"

#define LOCK_NAME "CONCAT('orderd.survey.',LEFT(DATABASE(),40))"

static bool run_and_release(struct db *db, struct strbuf *sql, db_row_fn on_row, void *arg, struct error *err)
{
    bool ok = on_row ? db_query(db, (struct slice){sql->data, sql->len}, on_row, arg, err)
                     : db_run(db, (struct slice){sql->data, sql->len}, err);

    strbuf_release(sql);
    return ok;
}

/* ---- letters and local messages ---- */

static bool take_reason(void *arg, const struct slice *c, unsigned count)
{
    struct survey *s = arg;
    struct survey_reason *r = &s->reasons[s->reason_count];
    int64_t open;

    if (count != 2 || !db_column_i64(c[1], &open))
        return false;
    s->dead_open += open;
    if (s->reason_count == SURVEY_REASONS_MAX)
        return true;
    snprintf(r->reason, sizeof r->reason, "%.*s", (int)c[0].len, c[0].ptr);
    r->open = open;
    s->reason_count++;
    return true;
}

bool survey_letters(struct db *db, struct survey *out, struct error *err)
{
    static const char sql[] =
        "SELECT reason,COUNT(*) FROM dead_letter WHERE state='open' GROUP BY reason ORDER BY 2 DESC,1";

    out->reason_count = 0;
    out->dead_open = 0;
    if (db_query(db, slice_of(sql), take_reason, out, err))
        return true;
    out->reason_count = 0;
    out->dead_open = SURVEY_UNKNOWN;
    return false;
}

static bool count_messages(struct db *db, const char *state, int64_t *out, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT COUNT(*) FROM (SELECT 1 FROM local_message FORCE INDEX(k_due) WHERE state='%s' LIMIT %d) AS m",
                state, SURVEY_COUNTED_MAX);
    ok = db_query_i64(db, (struct slice){sql.data, sql.len}, 0, out, err);
    strbuf_release(&sql);
    return ok;
}

bool survey_messages(struct db *db, struct survey *out, struct error *err)
{
    return count_messages(db, "pending", &out->relay_pending, err) &&
           count_messages(db, "quarantined", &out->relay_quarantined, err) &&
           local_message_oldest(db, &out->relay_oldest_ms, err);
}

/* ---- one surveys, all see it ---- */

bool survey_elect(struct db *db, bool *elected, struct error *err)
{
    int64_t answer;

    if (!db_query_i64(db, slice_of("SELECT GET_LOCK(" LOCK_NAME ",0)"), 0, &answer, err))
        return false;
    *elected = answer == 1;
    return true;
}

bool survey_publish(struct db *db, const struct survey *survey, struct error *err)
{
    struct strbuf json = STRBUF_INIT, sql = STRBUF_INIT;

    survey_json(survey, "", &json);
    strbuf_add_str(&sql, "INSERT INTO survey SET id=1,at=UTC_TIMESTAMP(6),body=");
    db_add_quoted(db, &sql, (struct slice){json.data, json.len});
    strbuf_add_str(&sql, " ON DUPLICATE KEY UPDATE at=UTC_TIMESTAMP(6),body=");
    db_add_quoted(db, &sql, (struct slice){json.data, json.len});
    strbuf_release(&json);
    return run_and_release(db, &sql, NULL, NULL, err);
}

struct kept {
    struct survey *out;
    bool found;
};

static bool take_kept(void *arg, const struct slice *c, unsigned count)
{
    struct kept *kept = arg;

    kept->found = count == 1 && survey_parse(c[0], kept->out);
    return true;
}

bool survey_read(struct db *db, struct survey *out, bool *found, struct error *err)
{
    struct kept kept = {out, false};

    if (!db_query(db, slice_of("SELECT body FROM survey WHERE id=1"), take_kept, &kept, err))
        return false;
    *found = kept.found;
    return true;
}
