#include "orderd/local_message.h"

#include <inttypes.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

/* What a claim may load at once; a row that is larger comes alone. */
#define CLAIM_BYTES ((size_t)4 * 1024 * 1024)
/* Of local_message.last_error. */
#define LAST_ERROR_MAX 400

static const struct {
    const char *topic;
    enum effect_kind kind;
} effects[] = {
#define X(topic, kind, prose) {topic, EFFECT_##kind},
#include "orderd/tbl/effect.h"
#undef X
};

#define NUMBER_MAX 10

static bool is_number(const char *text, size_t len)
{
    if (len == 0 || len > NUMBER_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
    }
    return true;
}

static bool topic_matches(struct slice topic, const char *pattern)
{
    size_t len = strlen(pattern);

    if (pattern[len - 1] != '*')
        return slice_is(topic, pattern);
    len--;
    return topic.len > len && memcmp(topic.ptr, pattern, len) == 0 && is_number(topic.ptr + len, topic.len - len);
}

enum effect_kind effect_of_topic(struct slice topic)
{
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
        if (topic_matches(topic, effects[i].topic))
            return effects[i].kind;
    }
    return EFFECT_UNKNOWN;
}

static void add_interval(struct strbuf *sql, int64_t ms)
{
    strbuf_add_str(sql, "NOW(6)+INTERVAL ");
    strbuf_add_i64(sql, ms);
    strbuf_add_str(sql, "000 MICROSECOND");
}

void local_message_add_insert(const struct db *db, struct strbuf *sql, const struct local_messages *list,
                              int64_t lease_ms)
{
    strbuf_add_str(sql, "INSERT INTO local_message(message_key,topic,payload,headers,attempts,due_at,lease_owner,"
                        "lease_until,first_due_at) VALUES");
    for (const struct local_message *m = list->first; m; m = m->next) {
        strbuf_add_str(sql, m == list->first ? "(" : ",(");
        db_add_quoted(db, sql, m->key);
        strbuf_add_char(sql, ',');
        db_add_quoted(db, sql, m->topic);
        strbuf_add_str(sql, ",_binary");
        db_add_quoted(db, sql, m->payload);
        strbuf_add_char(sql, ',');
        if (m->headers.len)
            db_add_quoted(db, sql, m->headers);
        else
            strbuf_add_str(sql, "NULL");
        strbuf_add_str(sql, ",1,");
        add_interval(sql, lease_ms);
        strbuf_add_char(sql, ',');
        db_add_quoted(db, sql, slice_of(m->owner));
        strbuf_add_char(sql, ',');
        add_interval(sql, lease_ms);
        strbuf_add_str(sql, ",NOW(6))");
    }
}

/* ---- claiming ---- */

struct choice {
    struct strbuf ids; /* "1,2,3" */
    size_t count, bytes;
    bool full; /* more were due, but they would take too much memory at once */
};

static bool choose(void *arg, const struct slice *c, unsigned count)
{
    struct choice *choice = arg;
    int64_t id, bytes;

    if (count != 2 || !db_column_i64(c[0], &id) || !db_column_i64(c[1], &bytes))
        return false;
    choice->full = choice->full || (choice->count > 0 && choice->bytes + (size_t)bytes > CLAIM_BYTES);
    if (choice->full)
        return true;
    strbuf_add_str(&choice->ids, choice->count > 0 ? "," : "");
    strbuf_add_i64(&choice->ids, id);
    choice->count++;
    choice->bytes += (size_t)bytes;
    return true;
}

/* Begins a transaction that holds the rows of a SELECT of id and size; what others hold is left out. */
static bool lock_rows(struct db *db, struct strbuf *sql, struct choice *choice, struct error *err)
{
    strbuf_add_str(sql, " FOR UPDATE SKIP LOCKED");
    return db_run(db, slice_of("BEGIN"), err) && db_query(db, (struct slice){sql->data, sql->len}, choose, choice, err);
}

/* Looks only at how large they are. An index serves both WHERE and ORDER BY, or a second claimer would find every
 * candidate locked. */
static bool lock_due(struct db *db, size_t max, struct choice *choice, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT id,LENGTH(payload)+IFNULL(LENGTH(headers),0) FROM local_message FORCE INDEX(k_due) WHERE "
                "state='pending' AND due_at<=NOW(6) ORDER BY due_at,id LIMIT %zu",
                max);
    ok = lock_rows(db, &sql, choice, err);
    strbuf_release(&sql);
    return ok;
}

/* MariaDB from 11 on walks the whole of a small table for many ids, and waits for whoever holds or has just inserted
 * any row there, unless it is told which index: here, where a mark is written, and in the clean-up. */
static bool lease(struct db *db, const char *owner, int64_t lease_ms, const struct choice *choice, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "UPDATE local_message FORCE INDEX(PRIMARY) SET attempts=attempts+1,"
                         "first_due_at=IFNULL(first_due_at,due_at),lease_owner=");
    db_add_quoted(db, &sql, slice_of(owner));
    strbuf_add_str(&sql, ",lease_until=");
    add_interval(&sql, lease_ms);
    strbuf_add_str(&sql, ",due_at=");
    add_interval(&sql, lease_ms);
    strbuf_addf(&sql, " WHERE id IN(%s);COMMIT", choice->ids.data);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    return ok;
}

struct loading {
    struct local_messages *list;
    const char *owner;
    int64_t leased_at;
};

static bool load_row(void *arg, const struct slice *c, unsigned count)
{
    struct loading *loading = arg;
    struct local_message *m;
    int64_t attempts;

    if (count != 6 || !db_column_i64(c[1], &attempts))
        return false;
    m = local_message_create(c[2], c[3], c[4], c[5], loading->owner);
    m->attempts = (int)attempts;
    m->leased_at = loading->leased_at;
    local_messages_push(loading->list, m);
    return db_column_i64(c[0], &m->id);
}

/* No lock is held any more; the lease keeps others away. */
static bool load(struct db *db, const struct choice *choice, struct loading *loading, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT id,attempts,message_key,topic,payload,headers FROM local_message FORCE INDEX(PRIMARY) WHERE id "
                "IN(%s) AND state='pending' AND lease_owner=",
                choice->ids.data);
    db_add_quoted(db, &sql, slice_of(loading->owner));
    strbuf_add_str(&sql, " ORDER BY first_due_at,id");
    ok = db_query(db, (struct slice){sql.data, sql.len}, load_row, loading, err);
    strbuf_release(&sql);
    return ok;
}

bool local_message_claim(struct db *db, const char *owner, int64_t lease_ms, size_t max, struct local_messages *list,
                         bool *more, struct error *err)
{
    struct local_messages taken;
    struct loading loading = {&taken, owner, clock_mono_ms()};
    struct choice choice = {.ids = STRBUF_INIT};
    bool ok;

    local_messages_init(&taken);
    ok = lock_due(db, max, &choice, err);
    if (ok && choice.count > 0)
        ok = lease(db, owner, lease_ms, &choice, err);
    if (!ok || choice.count == 0)
        db_rollback(db);
    if (ok && choice.count > 0)
        ok = load(db, &choice, &loading, err);
    if (ok)
        local_messages_append(list, &taken);
    *more = choice.full || choice.count == max;
    local_messages_free(&taken);
    strbuf_release(&choice.ids);
    return ok;
}

/* ---- settling ---- */

/* The words of a server may be any bytes, cut anywhere; the column takes LAST_ERROR_MAX characters of UTF-8. A mark
 * that it refused would leave the row to be sent again and again. */
static void add_sentence(const struct db *db, struct strbuf *sql, const char *why)
{
    size_t len = strlen(why);
    struct strbuf text = STRBUF_INIT;

    strbuf_add_utf8(&text, (struct slice){why, len < LAST_ERROR_MAX ? len : LAST_ERROR_MAX});
    db_add_quoted(db, sql, (struct slice){text.data, text.len});
    strbuf_release(&text);
}

static void add_change(const struct db *db, struct strbuf *sql, enum local_message_result result, int64_t wait_ms,
                       const char *why)
{
    switch (result) {
    case LOCAL_MESSAGE_SENT:
        strbuf_add_str(sql, "state='sent',sent_at=NOW(6),due_at=NOW(6)");
        break;
    case LOCAL_MESSAGE_QUARANTINE:
        strbuf_add_str(sql, "state='quarantined',due_at=NOW(6)");
        break;
    case LOCAL_MESSAGE_WAIT:
        strbuf_add_str(sql, "attempts=GREATEST(attempts,1)-1,due_at=");
        add_interval(sql, wait_ms);
        break;
    case LOCAL_MESSAGE_AGAIN:
        strbuf_add_str(sql, "due_at=");
        add_interval(sql, wait_ms);
        break;
    }
    strbuf_add_str(sql, ",lease_owner=NULL,lease_until=NULL,last_error=");
    if (why)
        add_sentence(db, sql, why);
    else
        strbuf_add_str(sql, "NULL");
}

/* By key: a message that its own transaction handed over does not know its id. */
static void add_fence(const struct db *db, struct strbuf *sql, const struct local_message *first)
{
    strbuf_add_str(sql, " WHERE state='pending' AND message_key IN");
    for (const struct local_message *m = first; m; m = m->next) {
        strbuf_add_char(sql, m == first ? '(' : ',');
        db_add_quoted(db, sql, m->key);
    }
    strbuf_add_str(sql, ") AND lease_owner=");
    db_add_quoted(db, sql, slice_of(first->owner));
}

struct settling {
    const struct local_messages *list;
    enum local_message_result result;
    int64_t wait_ms;
    const char *why;
};

static bool settle_all(struct db *db, const struct settling *what, size_t *written, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "UPDATE local_message FORCE INDEX(uk_message_key) SET ");
    add_change(db, &sql, what->result, what->wait_ms, what->why);
    add_fence(db, &sql, what->list->first);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    *written = ok ? db_matched(db, 0) : 0;
    strbuf_release(&sql);
    return ok;
}

/* The same for those that nobody else holds a lock on. */
static bool settle_unlocked(struct db *db, const struct settling *what, size_t *written, struct error *err)
{
    struct choice choice = {.ids = STRBUF_INIT};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "SELECT id,0 FROM local_message FORCE INDEX(uk_message_key)");
    add_fence(db, &sql, what->list->first);
    ok = lock_rows(db, &sql, &choice, err);
    if (ok && choice.count > 0) {
        strbuf_reset(&sql);
        strbuf_add_str(&sql, "UPDATE local_message FORCE INDEX(PRIMARY) SET ");
        add_change(db, &sql, what->result, what->wait_ms, what->why);
        strbuf_addf(&sql, " WHERE id IN(%s);COMMIT", choice.ids.data);
        ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    }
    if (!ok || choice.count == 0)
        db_rollback(db);
    *written = ok ? choice.count : 0;
    strbuf_release(&sql);
    strbuf_release(&choice.ids);
    return ok;
}

bool local_message_settle(struct db *db, const struct local_messages *list, enum local_message_result result,
                          int64_t wait_ms, const char *why, size_t *written, struct error *err)
{
    struct settling what = {list, result, wait_ms, why};

    *written = 0;
    if (list->count == 0)
        return true;
    for (const struct local_message *m = list->first; m; m = m->next)
        CHECK(strcmp(m->owner, list->first->owner) == 0);
    if (settle_all(db, &what, written, err))
        return true;
    if (err->code != ERROR_DB_CONFLICT)
        return false;
    db_rollback(db);
    error_clear(err);
    return settle_unlocked(db, &what, written, err);
}

/* ---- looking after the table ---- */

/* The ids come from one index and are deleted by another, so that the plan rests on no statistics: those are wrong
 * after every wave of rows. What was sent again for an order that is still not there stays: the row counts how often.
 */
bool local_message_clean(struct db *db, int64_t keep_ms, size_t max, size_t *deleted, struct error *err)
{
    struct choice choice = {.ids = STRBUF_INIT};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT id,0 FROM local_message FORCE INDEX(k_due) WHERE state='sent' AND "
                "due_at<NOW(6)-INTERVAL %" PRId64 "000 MICROSECOND AND (message_key NOT LIKE 'recover:%%' OR EXISTS("
                "SELECT 1 FROM orders WHERE order_no=SUBSTRING(message_key,9))) ORDER BY due_at,id LIMIT %zu",
                keep_ms, max);
    ok = lock_rows(db, &sql, &choice, err);
    if (ok && choice.count > 0) {
        strbuf_reset(&sql);
        strbuf_addf(&sql, "DELETE local_message FROM local_message FORCE INDEX(PRIMARY) WHERE id IN(%s);COMMIT",
                    choice.ids.data);
        ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    }
    if (!ok || choice.count == 0)
        db_rollback(db);
    *deleted = ok ? choice.count : 0;
    strbuf_release(&sql);
    strbuf_release(&choice.ids);
    return ok;
}

/* A row that was tried has a due time of its own making: what counts is when it was due for the first time. */
bool local_message_oldest(struct db *db, int64_t *age_ms, struct error *err)
{
    static const char sql[] =
        "SELECT TIMESTAMPDIFF(MICROSECOND,MIN(since),NOW(6)) DIV 1000 FROM (SELECT IFNULL(first_due_at,due_at) AS "
        "since "
        "FROM local_message FORCE INDEX(k_due) WHERE state='pending' ORDER BY due_at,id LIMIT 100) AS next";

    if (!db_query_i64(db, slice_of(sql), 0, age_ms, err))
        return false;
    if (*age_ms < 0)
        *age_ms = 0; /* not due yet */
    return true;
}
