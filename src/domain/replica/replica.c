#include "orderd/replica.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

static const struct {
    const char *name;
    bool lives;
} states[] = {
#define X(state, name, lives) [REPLICA_##state] = {name, lives},
#include "orderd/tbl/replica_state.h"
#undef X
};

const char *replica_state_name(enum replica_state state)
{
    CHECK(state < REPLICA_STATE_COUNT);
    return states[state].name;
}

bool replica_state_lives(enum replica_state state)
{
    CHECK(state < REPLICA_STATE_COUNT);
    return states[state].lives;
}

bool replica_state_of_name(struct slice name, enum replica_state *out)
{
    for (int i = 0; i < REPLICA_STATE_COUNT; i++) {
        if (slice_is(name, states[i].name)) {
            *out = (enum replica_state)i;
            return true;
        }
    }
    return false;
}

/* ---- writing ---- */

static void add_text(const struct db *db, struct strbuf *sql, const char *column, const char *value)
{
    struct strbuf clean = STRBUF_INIT; /* what servers say in their errors may be any bytes */

    strbuf_add_utf8(&clean, slice_of(value));
    strbuf_addf(sql, "%s=", column);
    db_add_quoted(db, sql, (struct slice){clean.data ? clean.data : "", clean.len});
    strbuf_release(&clean);
}

static void add_values(const struct db *db, struct strbuf *sql, const struct replica *r,
                       const struct replica_report *report)
{
    struct strbuf json = STRBUF_INIT;
    char started[32];

    clock_format_sql(started, sizeof started, r->started_at);
    add_text(db, sql, "version", r->version);
    add_text(db, sql, ",admin", r->admin);
    add_text(db, sql, ",state", states[r->state].name);
    add_text(db, sql, ",why", r->why);
    strbuf_addf(sql, ",started_at='%s',seen_at=UTC_TIMESTAMP(6)", started);
    replica_report_json(report, &json);
    add_text(db, sql, ",report", json.data);
    strbuf_release(&json);
}

static void add_key(const struct db *db, struct strbuf *sql, const struct replica *r, const char *between)
{
    char pid[32];

    add_text(db, sql, "host", r->host);
    strbuf_add_str(sql, between);
    add_text(db, sql, "instance", r->instance);
    snprintf(pid, sizeof pid, "%spid=%" PRId64, between, r->pid);
    strbuf_add_str(sql, pid);
}

bool replica_put(struct db *db, const struct replica *r, const struct replica_report *report, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "INSERT INTO replica SET ");
    add_key(db, &sql, r, ",");
    strbuf_add_char(&sql, ',');
    add_values(db, &sql, r, report);
    strbuf_add_str(&sql, " ON DUPLICATE KEY UPDATE ");
    add_values(db, &sql, r, report);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    return ok;
}

bool replica_leave(struct db *db, const struct replica *r, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "DELETE FROM replica WHERE ");
    add_key(db, &sql, r, " AND ");
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    return ok;
}

#define UNSEEN "seen_at<UTC_TIMESTAMP(6)-INTERVAL %" PRId64 "000 MICROSECOND"

bool replica_clean(struct db *db, int64_t lost_ms, int64_t keep_ms, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql, "DELETE FROM replica WHERE " UNSEEN ";", keep_ms > lost_ms ? keep_ms : lost_ms);
    strbuf_addf(&sql,
                "DELETE old FROM replica old JOIN replica young ON young.host=old.host AND young.instance=old.instance "
                "AND young.pid<>old.pid WHERE old." UNSEEN " AND NOT young." UNSEEN,
                lost_ms, lost_ms);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    return ok;
}

/* ---- reading ---- */

struct reading {
    replica_fn on_replica;
    void *arg;
};

static void take_text(struct slice column, char *out, size_t size)
{
    size_t len = column.len < size ? column.len : size - 1;

    while (len < column.len && len > 0 && ((unsigned char)column.ptr[len] & 0xC0) == 0x80)
        len--; /* never half a character */
    memcpy(out, column.ptr ? column.ptr : "", len);
    out[len] = '\0';
}

enum { HOST, INSTANCE, VERSION, ADMIN, STATE, WHY, REPORT, PID, STARTED, SEEN, UNSEEN_LONG, COLUMNS };

static bool take_row(void *arg, const struct slice *c, unsigned count)
{
    const struct reading *reading = arg;
    struct replica_report report;
    struct replica r = {.state = REPLICA_NOT_READY}; /* a state that a later version has: it lives, and is not ready */
    int64_t lost;

    if (count != COLUMNS || !db_column_i64(c[PID], &r.pid) || !db_column_i64(c[STARTED], &r.started_at) ||
        !db_column_i64(c[SEEN], &r.seen_at) || !db_column_i64(c[UNSEEN_LONG], &lost))
        return false;
    take_text(c[HOST], r.host, sizeof r.host);
    take_text(c[INSTANCE], r.instance, sizeof r.instance);
    take_text(c[VERSION], r.version, sizeof r.version);
    take_text(c[ADMIN], r.admin, sizeof r.admin);
    take_text(c[WHY], r.why, sizeof r.why);
    (void)replica_state_of_name(c[STATE], &r.state);
    if (lost)
        r.state = REPLICA_LOST;
    replica_report_parse(c[REPORT], &report);
    reading->on_replica(reading->arg, &r, &report);
    return true;
}

#define MS(column) "CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," column ") DIV 1000 AS SIGNED)"

bool replica_read_all(struct db *db, int64_t lost_ms, replica_fn on_replica, void *arg, struct error *err)
{
    struct reading reading = {on_replica, arg};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT host,instance,version,admin,state,why,report,pid," MS("started_at") "," MS(
                    "seen_at") "," UNSEEN " FROM replica ORDER BY host,instance,started_at,pid",
                lost_ms);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_row, &reading, err);
    strbuf_release(&sql);
    return ok;
}
