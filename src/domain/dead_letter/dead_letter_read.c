/* Looking at the dead letters of the table. */
#include "dead_letter_row.h"

#include <inttypes.h>

#include "orderd/clock.h"

#define MS(column) "TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," column ") DIV 1000"
#define COLUMNS                                                                                                        \
    "id,CAST(state AS CHAR),message_id,reason,detail,queue,order_no,COALESCE(activity_id,0),attempts,times,"           \
    "LENGTH(body)," MS("died_at") "," MS("taken_at") "," MS("UTC_TIMESTAMP(6)") ",death_told"
#define COLUMN_COUNT 15

struct reading {
    dead_letter_row_fn on_row;
    void *arg;
    size_t rows;
    int64_t last;
};

static bool take_row(void *arg, const struct slice *c, unsigned count)
{
    struct reading *r = arg;
    int64_t told;
    struct dead_letter_row row = {.message_id = c[2], .reason = c[3], .detail = c[4], .queue = c[5], .order_no = c[6]};

    if (!db_column_i64(c[0], &row.id) || !dead_letter_state_of_name(c[1], &row.state) ||
        !db_column_i64(c[7], &row.activity_id) || !db_column_i64(c[8], &row.attempts) ||
        !db_column_i64(c[9], &row.times) || !db_column_i64(c[10], &row.body_bytes) ||
        !db_column_i64(c[11], &row.died_at) || !db_column_i64(c[12], &row.taken_at) ||
        !db_column_i64(c[13], &row.now) || !db_column_i64(c[14], &told))
        return false;
    row.death_told = told != 0;
    if (count == COLUMN_COUNT + 3) {
        row.content_type = c[COLUMN_COUNT];
        row.headers = c[COLUMN_COUNT + 1];
        row.body = c[COLUMN_COUNT + 2];
    }
    r->rows++;
    r->last = row.id;
    r->on_row(r->arg, &row);
    return true;
}

static void add_equal(const struct db *db, struct strbuf *sql, const char *column, struct slice value)
{
    if (!value.ptr)
        return;
    strbuf_addf(sql, " AND %s=", column);
    db_add_quoted(db, sql, value);
}

static void add_time(struct strbuf *sql, const char *comparison, int64_t ms)
{
    char text[32];

    if (ms == 0)
        return;
    clock_format_sql(text, sizeof text, ms);
    strbuf_addf(sql, " AND died_at%s'%s'", comparison, text);
}

static void add_filter(const struct db *db, struct strbuf *sql, const struct dead_letter_filter *f)
{
    if (f->by_state)
        strbuf_addf(sql, " AND state='%s'", dead_letter_state_name(f->state));
    add_equal(db, sql, "reason", f->reason);
    add_equal(db, sql, "queue", f->queue);
    add_equal(db, sql, "order_no", f->order_no);
    if (f->activity_id)
        strbuf_addf(sql, " AND activity_id=%" PRId64, f->activity_id);
    add_time(sql, ">=", f->since);
    add_time(sql, "<", f->until);
}

bool dead_letter_store_page(struct db *db, const struct dead_letter_filter *filter, int64_t *after, size_t max,
                            dead_letter_row_fn on_row, void *arg, bool *end, struct error *err)
{
    struct reading reading = {.on_row = on_row, .arg = arg};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql, "SELECT " COLUMNS " FROM dead_letter WHERE id>%" PRId64, *after);
    add_filter(db, &sql, filter);
    strbuf_addf(&sql, " ORDER BY id LIMIT %zu", max);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_row, &reading, err);
    strbuf_release(&sql);
    if (!ok)
        return false;
    *end = reading.rows < max;
    *after = reading.rows ? reading.last : *after;
    return true;
}

bool dead_letter_store_get(struct db *db, int64_t id, dead_letter_row_fn on_row, void *arg, bool *found,
                           struct error *err)
{
    struct reading reading = {.on_row = on_row, .arg = arg};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql, "SELECT " COLUMNS ",content_type,headers,body FROM dead_letter WHERE id=%" PRId64, id);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_row, &reading, err);
    strbuf_release(&sql);
    *found = reading.rows > 0;
    return ok;
}

/* ---- history ---- */

struct recounting {
    dead_letter_action_fn on_action;
    void *arg;
};

static bool take_action(void *arg, const struct slice *c, unsigned count)
{
    struct recounting *r = arg;
    struct dead_letter_action a = {.action = c[3], .who = c[4], .note = c[5]};

    if (count != 6 || !db_column_i64(c[0], &a.id) || !db_column_i64(c[1], &a.letter_id) ||
        !db_column_i64(c[2], &a.done_at))
        return false;
    r->on_action(r->arg, &a);
    return true;
}

bool dead_letter_store_history(struct db *db, int64_t letter_id, int64_t max, dead_letter_action_fn on_action,
                               void *arg, struct error *err)
{
    struct recounting recounting = {on_action, arg};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql,
                   "SELECT * FROM (SELECT id,letter_id," MS("done_at") ",action,who,note FROM dead_letter_action");
    if (letter_id)
        strbuf_addf(&sql, " WHERE letter_id=%" PRId64, letter_id);
    strbuf_addf(&sql, " ORDER BY id DESC LIMIT %" PRId64 ") latest ORDER BY id", max);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_action, &recounting, err);
    strbuf_release(&sql);
    return ok;
}
