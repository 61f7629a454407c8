#include "orderd/activity_walk.h"

#include <inttypes.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/strbuf.h"

/* Only whole walks count: one that was cut short, or whose Redis was away, leaves the activity due, for another process
 * perhaps. */
static void add_due(struct strbuf *sql, int64_t interval_ms)
{
    strbuf_addf(sql,
                "FROM activity a LEFT JOIN activity_walk w ON w.activity_id=a.id WHERE a.state "
                "IN('scheduled','running','ended') AND a.preheated_at IS NOT NULL AND (w.began_at IS NULL OR "
                "w.began_at<=UTC_TIMESTAMP(6)-INTERVAL GREATEST(%" PRId64 ",2*w.took_ms)*1000 MICROSECOND)",
                interval_ms);
}

struct ids {
    int64_t *list;
    size_t count, max;
};

static bool take_id(void *arg, const struct slice *c, unsigned count)
{
    struct ids *ids = arg;

    return count == 1 && ids->count < ids->max && db_column_i64(c[0], &ids->list[ids->count++]);
}

bool activity_walk_due(struct db *db, int64_t interval_ms, int64_t *ids, size_t max, size_t *count, struct error *err)
{
    struct ids taken = {ids, 0, max};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "SELECT a.id ");
    add_due(&sql, interval_ms);
    strbuf_addf(&sql, " ORDER BY w.began_at,a.id LIMIT %zu", max);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_id, &taken, err);
    *count = taken.count;
    strbuf_release(&sql);
    return ok;
}

/* Lock names are the server's, not the schema's, and at most 64 characters long. MySQL has no MD5 any more (9.7): even
 * where its answer is not wanted, the statement is refused. */
static void add_lock_name(struct strbuf *sql, int64_t id)
{
    strbuf_addf(sql,
                "IF(CHAR_LENGTH(DATABASE())<=30,CONCAT('orderd.walk.',DATABASE(),'.%" PRId64
                "'),CONCAT('orderd.walk.',LEFT(SHA2(CONCAT(DATABASE(),'.%" PRId64 "'),256),32)))",
                id, id);
}

static bool ask(struct db *db, struct strbuf *sql, int64_t *out, struct error *err)
{
    bool ok = db_query_i64(db, (struct slice){sql->data, sql->len}, 0, out, err);

    strbuf_release(sql);
    return ok;
}

static bool lock(struct db *db, int64_t id, bool *locked, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    int64_t answer;

    strbuf_add_str(&sql, "SELECT GET_LOCK(");
    add_lock_name(&sql, id);
    strbuf_add_str(&sql, ",0)");
    if (!ask(db, &sql, &answer, err))
        return false;
    *locked = answer == 1;
    return true;
}

static bool still_due(struct db *db, int64_t id, int64_t interval_ms, bool *due, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    int64_t found;

    strbuf_add_str(&sql, "SELECT COUNT(*) ");
    add_due(&sql, interval_ms);
    strbuf_addf(&sql, " AND a.id=%" PRId64, id);
    if (!ask(db, &sql, &found, err))
        return false;
    *due = found > 0;
    return true;
}

bool activity_walk_elect(struct db *db, int64_t id, int64_t interval_ms, bool *elected, struct error *err)
{
    *elected = false;
    if (!lock(db, id, elected, err))
        return false;
    if (!*elected)
        return true;
    if (!still_due(db, id, interval_ms, elected, err))
        return false;
    return *elected || activity_walk_release(db, id, err);
}

bool activity_walk_release(struct db *db, int64_t id, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    int64_t ignored;

    strbuf_add_str(&sql, "SELECT RELEASE_LOCK(");
    add_lock_name(&sql, id);
    strbuf_add_char(&sql, ')');
    return ask(db, &sql, &ignored, err);
}

/* No activity has this id. */
#define LEVEL 0

bool activity_level_elect(struct db *db, bool *elected, struct error *err)
{
    return lock(db, LEVEL, elected, err);
}

bool activity_level_release(struct db *db, struct error *err)
{
    return activity_walk_release(db, LEVEL, err);
}

/* ---- the record ---- */

enum { NUMBERS = 8, WALKER = 8, COLUMNS };

static bool take_walk(void *arg, const struct slice *c, unsigned count)
{
    struct activity_walk *w = arg;
    int64_t *const fields[NUMBERS] = {&w->walks,     &w->began_at, &w->took_ms, &w->reservations,
                                      &w->recovered, &w->deferred, &w->mended,  &w->need_person};

    if (count != COLUMNS || c[WALKER].len > ACTIVITY_WALKER_MAX)
        return false;
    for (int i = 0; i < NUMBERS; i++) {
        if (!db_column_i64(c[i], fields[i]))
            return false;
    }
    memcpy(w->walker, c[WALKER].ptr, c[WALKER].len);
    w->walker[c[WALKER].len] = '\0';
    return true;
}

bool activity_walk_read(struct db *db, int64_t id, struct activity_walk *out, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    *out = (struct activity_walk){0};
    strbuf_addf(&sql,
                "SELECT walks,CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',began_at) DIV 1000 AS SIGNED),took_ms,"
                "reservations,recovered,deferred,mended,need_person,walker FROM activity_walk WHERE "
                "activity_id=%" PRId64,
                id);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_walk, out, err);
    strbuf_release(&sql);
    return ok;
}

static void add_assignments(const struct db *db, struct strbuf *sql, const struct activity_walk *w)
{
    strbuf_addf(sql,
                "began_at=UTC_TIMESTAMP(6)-INTERVAL %" PRId64 "000 MICROSECOND,took_ms=%" PRId64
                ",reservations=%" PRId64 ",recovered=%" PRId64 ",deferred=%" PRId64 ",mended=%" PRId64
                ",need_person=%" PRId64 ",walker=",
                w->took_ms, w->took_ms, w->reservations, w->recovered, w->deferred, w->mended, w->need_person);
    db_add_quoted(db, sql, slice_of(w->walker));
}

bool activity_walk_record(struct db *db, int64_t id, const struct activity_walk *w, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql, "INSERT INTO activity_walk SET activity_id=%" PRId64 ",walks=1,", id);
    add_assignments(db, &sql, w);
    strbuf_add_str(&sql, " ON DUPLICATE KEY UPDATE walks=walks+1,");
    add_assignments(db, &sql, w);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    return ok;
}
