/* Reading the local message table for operators. */
#include "local_message_row.h"

#include <inttypes.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

static const char *const state_names[LOCAL_MESSAGE_STATE_COUNT] = {
#define X(state, name) [LOCAL_MESSAGE_STATE_##state] = name,
#include "orderd/tbl/local_message_state.h"
#undef X
};

const char *local_message_state_name(enum local_message_state state)
{
    return state_names[state];
}

bool local_message_state_of_name(struct slice name, enum local_message_state *out)
{
    for (int i = 0; i < LOCAL_MESSAGE_STATE_COUNT; i++) {
        if (slice_is(name, state_names[i])) {
            *out = (enum local_message_state)i;
            return true;
        }
    }
    return false;
}

/* ---- a row ---- */

/* NULL, and what another producer's lax session stored as a date of zeros, is 0. */
static bool read_time(struct slice column, int64_t *out)
{
    *out = 0;
    return !column.ptr || db_column_i64(column, out);
}

bool local_message_row_read(const struct slice *c, unsigned count, struct local_message_row *out)
{
    int64_t leased;

    *out = (struct local_message_row){.key = c[1], .topic = c[2], .lease_owner = c[12], .last_error = c[13]};
    if (count < LOCAL_MESSAGE_COLUMN_COUNT || !db_column_i64(c[0], &out->id) ||
        !local_message_state_of_name(c[3], &out->state) || !db_column_i64(c[4], &out->attempts) ||
        !db_column_i64(c[5], &out->payload_bytes) || !read_time(c[6], &out->now) || !read_time(c[7], &out->due_at) ||
        !read_time(c[8], &out->created_at) || !read_time(c[9], &out->sent_at) || !read_time(c[10], &out->lease_until) ||
        !db_column_i64(c[11], &leased))
        return false;
    out->leased = leased != 0;
    return true;
}

struct reading {
    local_message_row_fn on_row;
    void *arg;
    size_t rows;
    int64_t last;
};

static bool take_row(void *arg, const struct slice *c, unsigned count)
{
    struct reading *r = arg;
    struct local_message_row row;

    if (!local_message_row_read(c, count, &row))
        return false;
    if (count == LOCAL_MESSAGE_COLUMN_COUNT + 2) {
        row.payload = c[LOCAL_MESSAGE_COLUMN_COUNT];
        row.headers = c[LOCAL_MESSAGE_COLUMN_COUNT + 1];
    }
    r->rows++;
    r->last = row.id;
    r->on_row(r->arg, &row);
    return true;
}

/* ---- conditions ---- */

/* The columns are ASCII: no row has anything else, and a comparison with it would be refused as a mix of collations. */
static bool is_ascii(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] > 0x7f)
            return false;
    }
    return true;
}

static void add_topic(const struct db *db, struct strbuf *sql, struct slice topic)
{
    if (!is_ascii(topic)) {
        strbuf_add_str(sql, " AND FALSE");
        return;
    }
    strbuf_add_str(sql, " AND topic=");
    db_add_quoted(db, sql, topic);
}

/* Not by LIKE: under a collation that pads with spaces, its search by index begins behind the keys that go on with a
 * byte below the space (MariaDB 10.11). The range is for the index, the comparison of bytes for the truth. */
static void add_prefix(const struct db *db, struct strbuf *sql, struct slice key)
{
    char bound[LOCAL_MESSAGE_KEY_MAX];

    if (!is_ascii(key) || key.len > sizeof bound) {
        strbuf_add_str(sql, " AND FALSE");
        return;
    }
    memcpy(bound, key.ptr, key.len);
    memset(bound + key.len, 0, sizeof bound - key.len);
    strbuf_add_str(sql, " AND message_key>=");
    db_add_quoted(db, sql, (struct slice){bound, sizeof bound});
    memset(bound + key.len, 0x7f, sizeof bound - key.len);
    strbuf_add_str(sql, " AND message_key<=");
    db_add_quoted(db, sql, (struct slice){bound, sizeof bound});
    strbuf_addf(sql, " AND CAST(LEFT(message_key,%zu) AS BINARY)=", key.len);
    db_add_quoted(db, sql, key);
}

static void add_time(struct strbuf *sql, const char *comparison, int64_t ms)
{
    char text[32];

    if (ms == 0)
        return;
    clock_format_sql(text, sizeof text, ms);
    strbuf_addf(sql, " AND %s'%s'", comparison, text);
}

static void add_filter(const struct db *db, struct strbuf *sql, const struct local_message_filter *f)
{
    if (f->by_state)
        strbuf_addf(sql, " AND state='%s'", state_names[f->state]);
    if (f->topic.ptr)
        add_topic(db, sql, f->topic);
    if (f->key.ptr)
        add_prefix(db, sql, f->key);
    add_time(sql, "created_at>=", f->since);
    add_time(sql, "created_at<", f->until);
    add_time(sql, "state<>'pending' AND due_at<", f->settled_before);
    if (f->due)
        strbuf_add_str(sql, " AND state='pending' AND due_at<=NOW(6)");
}

static void add_ref(const struct db *db, struct strbuf *sql, const struct local_message_ref *ref)
{
    if (ref->id > 0) {
        strbuf_addf(sql, "id=%" PRId64, ref->id);
    } else {
        strbuf_add_str(sql, "message_key=");
        db_add_quoted(db, sql, ref->key);
    }
}

static bool may_exist(const struct local_message_ref *ref)
{
    return ref->id > 0 || (ref->key.len <= LOCAL_MESSAGE_KEY_MAX && is_ascii(ref->key));
}

/* ---- walking ---- */

#define STRETCH 20000

bool local_message_stretch(struct db *db, int64_t after, int64_t *end, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT id FROM local_message FORCE INDEX(PRIMARY) WHERE id>%" PRId64 " ORDER BY id LIMIT 1 OFFSET %d",
                after, STRETCH - 1);
    ok = db_query_i64(db, (struct slice){sql.data, sql.len}, INT64_MAX, end, err);
    strbuf_release(&sql);
    return ok;
}

/* Few rows wait or are quarantined, and few share a long prefix: an index finds them, and the server knows which. All
 * else is a search through the table, which goes stretch by stretch. */
static bool indexed(const struct local_message_filter *f)
{
    return f->due || f->key.ptr || (f->by_state && f->state != LOCAL_MESSAGE_STATE_SENT);
}

bool local_message_page(struct db *db, struct local_message_walk *walk, size_t max, local_message_row_fn on_row,
                        void *arg, struct error *err)
{
    struct reading reading = {.on_row = on_row, .arg = arg};
    struct strbuf sql = STRBUF_INIT;
    int64_t stretch = INT64_MAX;
    bool search = !indexed(walk->filter), ok;

    if (search && !local_message_stretch(db, walk->after, &stretch, err))
        return false;
    strbuf_addf(&sql, "SELECT " LOCAL_MESSAGE_COLUMNS " FROM local_message%s WHERE id>%" PRId64 " AND id<=%" PRId64,
                search ? " FORCE INDEX(PRIMARY)" : "", walk->after, stretch);
    add_filter(db, &sql, walk->filter);
    strbuf_addf(&sql, " ORDER BY id LIMIT %zu", max);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_row, &reading, err);
    strbuf_release(&sql);
    if (!ok)
        return false;
    walk->after = reading.rows == max ? reading.last : stretch;
    walk->end = reading.rows < max && stretch == INT64_MAX;
    return true;
}

/* ---- by name ---- */

struct finding {
    local_message_found_fn on_found;
    void *arg;
};

static bool take_found(void *arg, const struct slice *c, unsigned count)
{
    struct finding *f = arg;
    struct local_message_row row = {.topic = c[3]};
    int64_t index;

    if (count != 4 || !db_column_i64(c[0], &index) || !db_column_i64(c[1], &row.id) ||
        !local_message_state_of_name(c[2], &row.state))
        return false;
    f->on_found(f->arg, (size_t)index, &row);
    return true;
}

bool local_message_find(struct db *db, const struct local_message_ref *refs, size_t count,
                        local_message_found_fn on_found, void *arg, struct error *err)
{
    struct finding finding = {on_found, arg};
    struct strbuf sql = STRBUF_INIT;
    bool ok = true;

    CHECK(count <= LOCAL_MESSAGE_FIND_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!may_exist(&refs[i]))
            continue;
        strbuf_addf(&sql, "%sSELECT %zu,id,CAST(state AS CHAR),topic FROM local_message WHERE ",
                    sql.len ? " UNION ALL " : "", i);
        add_ref(db, &sql, &refs[i]);
    }
    if (sql.len)
        ok = db_query(db, (struct slice){sql.data, sql.len}, take_found, &finding, err);
    strbuf_release(&sql);
    return ok;
}

bool local_message_get(struct db *db, const struct local_message_ref *ref, local_message_row_fn on_row, void *arg,
                       bool *found, struct error *err)
{
    struct reading reading = {.on_row = on_row, .arg = arg};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    *found = false;
    if (!may_exist(ref))
        return true;
    strbuf_add_str(&sql, "SELECT " LOCAL_MESSAGE_COLUMNS ",payload,headers FROM local_message WHERE ");
    add_ref(db, &sql, ref);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_row, &reading, err);
    strbuf_release(&sql);
    *found = reading.rows > 0;
    return ok;
}
