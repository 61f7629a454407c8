#include "orderd/activity_move.h"

#include <inttypes.h>
#include <stdio.h>

#include "activity_sql.h"
#include "orderd/check.h"
#include "orderd/clock.h"

bool activity_sql_move(struct db *db, int64_t id, enum activity_state from, enum activity_state to, const char *set,
                       const char *where, bool *moved, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    CHECK(from == to || activity_state_may_follow(from, to));
    strbuf_addf(&sql, "UPDATE activity SET state='%s'%s WHERE id=%" PRId64 " AND state='%s'%s", activity_state_name(to),
                set, id, activity_state_name(from), where);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    *moved = ok && db_matched(db, 0) == 1;
    return ok;
}

/* ---- by time ---- */

enum activity_state activity_due_state(const struct activity *a, int64_t now)
{
    if (a->state != ACTIVITY_SCHEDULED && a->state != ACTIVITY_RUNNING)
        return a->state;
    if (a->ends_at <= now)
        return ACTIVITY_ENDED;
    return a->preheated && a->starts_at <= now ? ACTIVITY_RUNNING : a->state;
}

bool activity_move_due(struct db *db, const struct activity *a, enum activity_state to, bool *moved, struct error *err)
{
    static const char over[] = " AND ends_at<=" ACTIVITY_SQL_NOW;
    static const char begun[] =
        " AND preheated_at IS NOT NULL AND starts_at<=" ACTIVITY_SQL_NOW " AND ends_at>" ACTIVITY_SQL_NOW;

    return activity_sql_move(db, a->id, a->state, to, "", to == ACTIVITY_ENDED ? over : begun, moved, err);
}

/* ---- by command ---- */

/* Somebody else may move it between our look and our move: look again, a bounded number of times. */
#define TRIES_MAX 5

struct attempt {
    struct db *db;
    int64_t now; /* the database clock when the row was read */
    bool dry_run;
    bool *moved;
    struct activity *row;
    struct error *err;
};

/* Moves the row as it was read, or finds that it is so already (*done). false: refused, or an error. */
typedef bool (*attempt_fn)(const struct attempt *t, void *arg, bool *done);

static bool read_row(struct attempt *t, int64_t id)
{
    return activity_store_now(t->db, &t->now, t->err) && activity_store_get(t->db, id, t->row, t->err);
}

static bool try_move(struct attempt *t, int64_t id, attempt_fn attempt, void *arg)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        bool done = false;

        *t->moved = false;
        if (!read_row(t, id) || !attempt(t, arg, &done))
            return false;
        if (done || t->dry_run)
            return true;
        if (*t->moved)
            return read_row(t, id);
    }
    return error_set(t->err, ERROR_DB_CONFLICT, "activity %" PRId64 " is being changed by others; run this again", id);
}

static bool not_yet_approved(const struct activity *a, struct error *err)
{
    return error_set(err, ERROR_REFUSED,
                     "activity %" PRId64 " is in review; run `orderctl activity approve %" PRId64 "` first", a->id,
                     a->id);
}

/* ---- start ---- */

static bool startable(const struct activity *a, int64_t now, struct error *err)
{
    if (a->state == ACTIVITY_REVIEW)
        return not_yet_approved(a, err);
    if (a->state != ACTIVITY_SCHEDULED || a->ends_at <= now)
        return error_set(err, ERROR_REFUSED,
                         a->state == ACTIVITY_SETTLED ? "activity %" PRId64 " is settled; create another"
                                                      : "the sale of activity %" PRId64
                                                        " is over; `orderctl activity extend` moves its end",
                         a->id);
    return a->preheated ||
           error_set(err, ERROR_REFUSED,
                     "activity %" PRId64 " is not preheated; run `orderctl activity preheat %" PRId64 "` first", a->id,
                     a->id);
}

static bool start(const struct attempt *t, void *arg, bool *done)
{
    struct activity *a = t->row;

    (void)arg;
    *done = a->state == ACTIVITY_RUNNING && a->ends_at > t->now;
    if (*done)
        return true;
    if (!startable(a, t->now, t->err))
        return false;
    if (t->dry_run) {
        *t->moved = true;
        a->state = ACTIVITY_RUNNING;
        a->starts_at = a->starts_at < t->now ? a->starts_at : t->now;
        return true;
    }
    return activity_sql_move(t->db, a->id, ACTIVITY_SCHEDULED, ACTIVITY_RUNNING,
                             ",starts_at=LEAST(starts_at," ACTIVITY_SQL_NOW ")",
                             " AND preheated_at IS NOT NULL AND ends_at>" ACTIVITY_SQL_NOW, t->moved, t->err);
}

bool activity_move_start(struct db *db, int64_t id, bool dry_run, bool *moved, struct activity *out, struct error *err)
{
    struct attempt t = {db, 0, dry_run, moved, out, err};

    return try_move(&t, id, start, NULL);
}

/* ---- end ---- */

static bool end(const struct attempt *t, void *arg, bool *done)
{
    struct activity *a = t->row;

    (void)arg;
    *done = a->state == ACTIVITY_ENDED || a->state == ACTIVITY_SETTLED;
    if (*done)
        return true;
    if (a->state == ACTIVITY_REVIEW)
        return not_yet_approved(a, t->err);
    if (t->dry_run) {
        *t->moved = true;
        a->state = ACTIVITY_ENDED;
        a->ends_at = a->ends_at < t->now ? a->ends_at : t->now;
        a->starts_at = a->starts_at < t->now ? a->starts_at : t->now - 1;
        return true;
    }
    return activity_sql_move(t->db, a->id, a->state, ACTIVITY_ENDED,
                             ",starts_at=LEAST(starts_at," ACTIVITY_SQL_NOW
                             "-INTERVAL 1000 MICROSECOND),ends_at=LEAST(ends_at," ACTIVITY_SQL_NOW ")",
                             "", t->moved, t->err);
}

bool activity_move_end(struct db *db, int64_t id, bool dry_run, bool *moved, struct activity *out, struct error *err)
{
    struct attempt t = {db, 0, dry_run, moved, out, err};

    return try_move(&t, id, end, NULL);
}

/* ---- extend ---- */

static bool extendable(const struct activity *a, int64_t ends_at, int64_t now, struct error *err)
{
    char there[32], wanted[32];

    clock_format_iso(there, sizeof there, a->ends_at);
    clock_format_iso(wanted, sizeof wanted, ends_at);
    if (a->state == ACTIVITY_REVIEW)
        return not_yet_approved(a, err);
    if (a->state == ACTIVITY_SETTLED)
        return error_set(err, ERROR_REFUSED, "activity %" PRId64 " is settled; create another", a->id);
    if (a->state == ACTIVITY_ENDED && !a->preheated)
        return error_set(err, ERROR_REFUSED, "activity %" PRId64 " ended without ever being preheated; create another",
                         a->id);
    if (ends_at <= now)
        return error_set(err, ERROR_REFUSED, "%s is over already", wanted);
    return ends_at >= a->ends_at ||
           error_set(err, ERROR_REFUSED,
                     "the sale of activity %" PRId64 " ends at %s, later than %s; `orderctl activity end` ends it now",
                     a->id, there, wanted);
}

static bool extend(const struct attempt *t, void *arg, bool *done)
{
    const struct activity_when *when = arg;
    struct activity *a = t->row;
    int64_t ends_at = when->relative ? t->now + when->ms : when->ms;
    enum activity_state to = a->state == ACTIVITY_ENDED ? ACTIVITY_RUNNING : a->state;
    char text[32], seen[32], set[80], where[80];

    if (!extendable(a, ends_at, t->now, t->err))
        return false;
    *done = ends_at == a->ends_at && to == a->state;
    if (*done)
        return true;
    clock_format_sql(text, sizeof text, ends_at);
    clock_format_sql(seen, sizeof seen, a->ends_at);
    if (t->dry_run) {
        *t->moved = true;
        a->state = to;
        a->ends_at = ends_at;
        return true;
    }
    snprintf(set, sizeof set, ",ends_at='%s'", text);
    snprintf(where, sizeof where, " AND ends_at='%s'", seen);
    return activity_sql_move(t->db, a->id, a->state, to, set, where, t->moved, t->err);
}

bool activity_move_extend(struct db *db, int64_t id, struct activity_when ends, bool dry_run, bool *moved,
                          struct activity *out, struct error *err)
{
    struct attempt t = {db, 0, dry_run, moved, out, err};

    return try_move(&t, id, extend, &ends);
}

/* ---- one at a time ---- */

/* At most 64 characters, and the schema's name counts since locks are the server's. */
#define LOCK_NAME "CONCAT('orderd.activity.',LEFT(DATABASE(),28),'.%" PRId64 "')"

bool activity_lock(struct db *db, int64_t id, int wait_s, bool *locked, struct error *err)
{
    char sql[160];
    int64_t got = 0;

    snprintf(sql, sizeof sql, "SELECT GET_LOCK(" LOCK_NAME ",%d)", id, wait_s);
    if (!db_query_i64(db, slice_of(sql), 0, &got, err))
        return false;
    *locked = got == 1;
    return true;
}

void activity_unlock(struct db *db, int64_t id)
{
    struct error ignored;
    char sql[160];
    int64_t freed;

    if (!db_usable(db))
        return;
    snprintf(sql, sizeof sql, "SELECT RELEASE_LOCK(" LOCK_NAME ")", id);
    (void)!db_query_i64(db, slice_of(sql), 0, &freed, &ignored);
}
