#include "orderd/survey_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/local_message.h"

#define LOCK_NAME "CONCAT('orderd.survey.',LEFT(DATABASE(),40))"

/* Rows of local messages that are counted at most. */
#define COUNTED_MAX 100000

#define MS(column)  "CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," column ") DIV 1000 AS SIGNED)"

static bool run_and_release(struct db *db, struct strbuf *sql, db_row_fn on_row, void *arg, struct error *err)
{
    bool ok = on_row ? db_query(db, (struct slice){sql->data, sql->len}, on_row, arg, err)
                     : db_run(db, (struct slice){sql->data, sql->len}, err);

    strbuf_release(sql);
    return ok;
}

/* ---- one activity ---- */

static bool take_counts(void *arg, const struct slice *c, unsigned count)
{
    struct survey_rows *rows = arg;
    int64_t n[4];

    if (count != 5)
        return false;
    for (unsigned i = 0; i < 4; i++) {
        if (!db_column_i64(c[i + 1], &n[i]))
            return false;
    }
    if (slice_is(c[0], "stock")) {
        rows->has_stock = true;
        rows->total = n[0];
        rows->available = n[1];
    } else if (slice_is(c[0], "pending")) {
        rows->pending = n[0];
        rows->pending_units = n[1];
        rows->due_soon = n[2];
        rows->overdue = n[3];
    } else if (slice_is(c[0], "paid")) {
        rows->paid = n[0];
        rows->paid_units = n[1];
    } else if (slice_is(c[0], "closed")) {
        rows->closed = n[0];
    } else if (slice_is(c[0], "messages")) {
        rows->messages = n[0] > COUNTED_MAX ? SURVEY_UNKNOWN : n[0];
    } else if (slice_is(c[0], "walk")) {
        rows->walk_ago_ms = n[0];
        rows->walk_took_ms = n[1];
    } else if (slice_is(c[0], "reconcile")) {
        rows->reconcile_at = n[0];
        rows->reconcile_verdict = (int)n[1] - 1;
    }
    return true;
}

/* No order of an activity is due before the activity was written: so what is long past is not looked at. */
static void add_status(struct strbuf *sql, const struct activity *a, const char *status, bool due)
{
    char since[32];

    clock_format_sql(since, sizeof since, a->created_at);
    strbuf_addf(sql, " UNION ALL SELECT '%s',COUNT(*),COALESCE(SUM(quantity),0),", status);
    if (due)
        strbuf_addf(sql,
                    "COALESCE(SUM(expires_at>NOW(6) AND expires_at<=NOW(6)+INTERVAL %d000 MICROSECOND),0),"
                    "COALESCE(SUM(expires_at<=NOW(6)),0)",
                    SURVEY_DUE_SOON_MS);
    else
        strbuf_add_str(sql, "0,0");
    strbuf_addf(sql, " FROM orders FORCE INDEX(k_due) WHERE status='%s' AND expires_at>='%s' AND activity_id=%" PRId64,
                status, since, a->id);
}

/* The branches of one statement see one instant. The verdicts are in the order of enum balance_verdict. */
bool survey_count(struct db *db, const struct activity *a, struct survey_rows *out, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;

    *out = (struct survey_rows){.walk_ago_ms = SURVEY_UNKNOWN, .reconcile_at = SURVEY_UNKNOWN, .reconcile_verdict = -1};
    strbuf_addf(&sql, "SELECT 'stock',total,available,0,0 FROM activity_stock WHERE activity_id=%" PRId64, a->id);
    add_status(&sql, a, "pending", true);
    add_status(&sql, a, "paid", false);
    add_status(&sql, a, "closed", false);
    strbuf_addf(&sql,
                " UNION ALL SELECT 'messages',COUNT(*),0,0,0 FROM (SELECT 1 FROM local_message FORCE INDEX(k_due) "
                "WHERE state='pending' LIMIT %d) AS m",
                COUNTED_MAX + 1);
    strbuf_addf(&sql,
                " UNION ALL SELECT 'walk',TIMESTAMPDIFF(MICROSECOND,began_at,UTC_TIMESTAMP(6)) DIV 1000,CAST(took_ms "
                "AS SIGNED),0,0 "
                "FROM activity_walk WHERE activity_id=%" PRId64,
                a->id);
    strbuf_addf(&sql,
                " UNION ALL SELECT * FROM (SELECT 'reconcile'," MS(
                    "started_at") ",FIELD(verdict,'clean','explained','broken'),0 AS c,0 AS d FROM reconcile_run WHERE "
                                  "activity_id=%" PRId64 " AND verdict IS NOT NULL ORDER BY started_at DESC LIMIT 1) "
                                  "AS r",
                a->id);
    return run_and_release(db, &sql, take_counts, out, err);
}

/* ---- the rest ---- */

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
                state, COUNTED_MAX);
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
