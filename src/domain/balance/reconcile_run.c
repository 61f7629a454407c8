#include "orderd/reconcile_run.h"

#include <inttypes.h>

#define LISTED_MAX ((size_t)1024 * 1024)

const char *reconcile_mode_name(enum reconcile_mode mode)
{
    static const char *const names[] = {"look", "dry_run", "repair"};

    return names[mode];
}

static bool take_id(void *arg, const struct slice *c, unsigned count)
{
    return count == 1 && db_column_i64(c[0], arg);
}

bool reconcile_run_begin(struct db *db, struct reconcile_run *run, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "INSERT INTO reconcile_run(activity_id,mode,in_flight_ms,who) VALUES(%" PRId64 ",'%s',%" PRId64 ",",
                run->activity_id, reconcile_mode_name(run->mode), run->in_flight_ms);
    db_add_quoted(db, &sql, slice_of(run->who));
    strbuf_add_char(&sql, ')');
    ok = db_run(db, (struct slice){sql.data, sql.len}, err) &&
         db_query(db, slice_of("SELECT LAST_INSERT_ID()"), take_id, &run->id, err);
    strbuf_release(&sql);
    return ok;
}

static void add_json(struct db *db, struct strbuf *sql, const char *column, struct slice json)
{
    strbuf_addf(sql, ",%s=", column);
    if (json.len > 0 && json.len <= LISTED_MAX)
        db_add_quoted(db, sql, json);
    else
        strbuf_add_str(sql, "NULL");
}

bool reconcile_run_end(struct db *db, const struct reconcile_run *run, const struct reconcile_result *result,
                       struct error *err)
{
    struct strbuf sql = STRBUF_INIT, json = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "UPDATE reconcile_run SET ended_at=UTC_TIMESTAMP(6),verdict='%s',findings=%" PRId64 ",repaired=%" PRId64
                ",not_repaired=%" PRId64,
                balance_verdict_name(result->verdict), balance_findings(result->found), result->repaired,
                result->not_repaired);
    balance_sums_json(result->found, &json);
    add_json(db, &sql, "sums", (struct slice){json.data, json.len});
    strbuf_reset(&json);
    balance_counts_json(result->found, &json);
    add_json(db, &sql, "found", (struct slice){json.data, json.len});
    add_json(db, &sql, "listed", result->listed);
    strbuf_addf(&sql, " WHERE id=%" PRId64, run->id);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&json);
    strbuf_release(&sql);
    return ok;
}
