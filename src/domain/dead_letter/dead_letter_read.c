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

void dead_letter_add_ids(struct strbuf *sql, const char *column, const int64_t *ids, size_t count)
{
    strbuf_addf(sql, " AND %s IN (", column);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            strbuf_add_char(sql, ',');
        strbuf_add_i64(sql, ids[i]);
    }
    strbuf_add_char(sql, ')');
}

void dead_letter_add_time(struct strbuf *sql, const char *comparison, int64_t ms)
{
    char text[32];

    if (ms == 0)
        return;
    clock_format_sql(text, sizeof text, ms);
    strbuf_addf(sql, " AND %s'%s'", comparison, text);
}

void dead_letter_add_filter(const struct db *db, struct strbuf *sql, const struct dead_letter_filter *f)
{
    if (f->ids)
        dead_letter_add_ids(sql, "id", f->ids, f->id_count);
    if (f->by_state)
        strbuf_addf(sql, " AND state='%s'", dead_letter_state_name(f->state));
    add_equal(db, sql, "reason", f->reason);
    add_equal(db, sql, "queue", f->queue);
    add_equal(db, sql, "order_no", f->order_no);
    if (f->message_id.ptr) {
        strbuf_add_str(sql, " AND message_id=_binary");
        db_add_quoted(db, sql, f->message_id);
    }
    if (f->activity_id)
        strbuf_addf(sql, " AND activity_id=%" PRId64, f->activity_id);
    dead_letter_add_time(sql, "died_at>=", f->since);
    dead_letter_add_time(sql, "died_at<", f->until);
}

bool dead_letter_store_page(struct db *db, const struct dead_letter_filter *filter, int64_t *after, size_t max,
                            dead_letter_row_fn on_row, void *arg, bool *end, struct error *err)
{
    struct reading reading = {.on_row = on_row, .arg = arg};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql, "SELECT " COLUMNS " FROM dead_letter WHERE id>%" PRId64, *after);
    dead_letter_add_filter(db, &sql, filter);
    strbuf_addf(&sql, " ORDER BY id LIMIT %zu", max);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_row, &reading, err);
    strbuf_release(&sql);
    if (!ok)
        return false;
    *end = reading.rows < max;
    *after = reading.rows ? reading.last : *after;
    return true;
}

struct naming {
    dead_letter_id_fn on_id;
    void *arg;
    size_t rows;
    int64_t last;
};

static bool take_id(void *arg, const struct slice *c, unsigned count)
{
    struct naming *n = arg;

    if (count != 1 || !db_column_i64(c[0], &n->last))
        return false;
    n->rows++;
    n->on_id(n->arg, n->last);
    return true;
}

bool dead_letter_store_ids(struct db *db, const struct dead_letter_filter *filter, int64_t *after, size_t max,
                           dead_letter_id_fn on_id, void *arg, bool *end, struct error *err)
{
    struct naming naming = {.on_id = on_id, .arg = arg, .last = *after};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql, "SELECT id FROM dead_letter WHERE id>%" PRId64, *after);
    dead_letter_add_filter(db, &sql, filter);
    strbuf_addf(&sql, " ORDER BY id LIMIT %zu", max);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_id, &naming, err);
    strbuf_release(&sql);
    *end = naming.rows < max;
    *after = naming.last;
    return ok;
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
