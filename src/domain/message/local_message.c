#include "orderd/local_message.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

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

enum effect_kind effect_of_topic(struct slice topic)
{
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
        if (slice_is(topic, effects[i].topic))
            return effects[i].kind;
    }
    return EFFECT_UNKNOWN;
}

void local_messages_init(struct local_messages *list)
{
    list->first = NULL;
    list->end = &list->first;
    list->count = 0;
}

void local_messages_append(struct local_messages *list, struct local_messages *more)
{
    if (!more->first)
        return;
    *list->end = more->first;
    list->end = more->end;
    list->count += more->count;
    local_messages_init(more);
}

struct local_message *local_messages_pop(struct local_messages *list)
{
    struct local_message *m = list->first;

    if (!m)
        return NULL;
    list->first = m->next;
    if (!list->first)
        list->end = &list->first;
    list->count--;
    m->next = NULL;
    return m;
}

void local_messages_push(struct local_messages *list, struct local_message *m)
{
    m->next = NULL;
    *list->end = m;
    list->end = &m->next;
    list->count++;
}

void local_messages_free(struct local_messages *list)
{
    while (list->first) {
        struct local_message *next = list->first->next;

        free(list->first);
        list->first = next;
    }
    local_messages_init(list);
}

static struct slice copy(char **at, struct slice s)
{
    struct slice out = {*at, s.len};

    if (s.len)
        memcpy(*at, s.ptr, s.len);
    *at += s.len;
    return out;
}

static struct local_message *add(struct local_messages *list, struct slice key, struct slice topic,
                                 struct slice payload, struct slice headers, const char *owner)
{
    struct local_message *m = check_malloc(sizeof *m + key.len + topic.len + payload.len + headers.len);
    char *at = (char *)(m + 1);

    memset(m, 0, sizeof *m);
    m->key = copy(&at, key);
    m->topic = copy(&at, topic);
    m->payload = copy(&at, payload);
    m->headers = copy(&at, headers);
    CHECK(strlen(owner) <= LOCAL_MESSAGE_OWNER_MAX);
    strcpy(m->owner, owner);
    m->attempts = 1;
    m->leased_at = clock_mono_ms();
    local_messages_push(list, m);
    return m;
}

void local_messages_add(struct local_messages *list, struct slice key, const char *topic, struct slice payload,
                        struct slice headers, const char *owner)
{
    CHECK(key.len <= LOCAL_MESSAGE_KEY_MAX);
    (void)add(list, key, slice_of(topic), payload, headers, owner);
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
                        "lease_until) VALUES");
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
        strbuf_add_char(sql, ')');
    }
}

struct claiming {
    struct local_messages *list;
    const char *owner;
};

static bool take_row(void *arg, const struct slice *c, unsigned count)
{
    struct claiming *claiming = arg;
    struct local_message *m;
    int64_t attempts;

    if (count != 6 || !db_column_i64(c[1], &attempts))
        return false;
    m = add(claiming->list, c[2], c[3], c[4], c[5], claiming->owner);
    m->attempts = (int)attempts + 1;
    return db_column_i64(c[0], &m->id);
}

static void add_ids(struct strbuf *sql, const struct local_message *first)
{
    for (const struct local_message *m = first; m; m = m->next) {
        strbuf_add_char(sql, m == first ? '(' : ',');
        strbuf_add_i64(sql, m->id);
    }
    strbuf_add_char(sql, ')');
}

static bool lease(struct db *db, const char *owner, int64_t lease_ms, const struct local_messages *taken,
                  struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "UPDATE local_message SET attempts=attempts+1,lease_owner=");
    db_add_quoted(db, &sql, slice_of(owner));
    strbuf_add_str(&sql, ",lease_until=");
    add_interval(&sql, lease_ms);
    strbuf_add_str(&sql, ",due_at=");
    add_interval(&sql, lease_ms);
    strbuf_add_str(&sql, " WHERE id IN");
    add_ids(&sql, taken->first);
    strbuf_add_str(&sql, ";COMMIT");
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    return ok;
}

/* The lock lasts for these two statements only; nothing is sent while it is held. An index serves both WHERE and ORDER
 * BY, or a second claimer would find every candidate locked. */
bool local_message_claim(struct db *db, const char *owner, int64_t lease_ms, size_t max, struct local_messages *list,
                         struct error *err)
{
    struct local_messages taken;
    struct claiming claiming = {&taken, owner};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    local_messages_init(&taken);
    strbuf_addf(&sql,
                "SELECT id,attempts,message_key,topic,payload,headers FROM local_message FORCE INDEX(k_due) WHERE "
                "state='pending' AND due_at<=NOW(6) ORDER BY due_at,id LIMIT %zu FOR UPDATE SKIP LOCKED",
                max);
    ok =
        db_run(db, slice_of("BEGIN"), err) && db_query(db, (struct slice){sql.data, sql.len}, take_row, &claiming, err);
    strbuf_release(&sql);
    if (ok && taken.count > 0)
        ok = lease(db, owner, lease_ms, &taken, err);
    if (!ok || taken.count == 0)
        db_rollback(db);
    if (ok)
        local_messages_append(list, &taken);
    local_messages_free(&taken);
    return ok;
}

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
        strbuf_add_str(sql, "attempts=attempts-1,due_at=");
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

/* All messages of one list come from one claim or one transaction, or the caller splits them: one owner a statement. */
static bool settle_owner(struct db *db, const struct local_messages *list, enum local_message_result result,
                         int64_t wait_ms, const char *why, size_t *written, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "UPDATE local_message FORCE INDEX(uk_message_key) SET ");
    add_change(db, &sql, result, wait_ms, why);
    add_fence(db, &sql, list->first);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    if (ok)
        *written += db_matched(db, 0);
    return ok;
}

bool local_message_settle(struct db *db, const struct local_messages *list, enum local_message_result result,
                          int64_t wait_ms, const char *why, size_t *written, struct error *err)
{
    *written = 0;
    if (list->count == 0)
        return true;
    for (const struct local_message *m = list->first; m; m = m->next)
        CHECK(strcmp(m->owner, list->first->owner) == 0);
    return settle_owner(db, list, result, wait_ms, why, written, err);
}

bool local_message_clean(struct db *db, int64_t keep_ms, size_t max, size_t *deleted, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "DELETE FROM local_message WHERE state='sent' AND due_at<NOW(6)-INTERVAL %lld000 MICROSECOND "
                "ORDER BY due_at LIMIT %zu",
                (long long)keep_ms, max);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    *deleted = ok ? db_matched(db, 0) : 0;
    strbuf_release(&sql);
    return ok;
}

bool local_message_oldest(struct db *db, int64_t *age_ms, struct error *err)
{
    return db_query_i64(
        db,
        slice_of("SELECT GREATEST(0,TIMESTAMPDIFF(MICROSECOND,due_at,NOW(6)) DIV 1000) FROM local_message "
                 "FORCE INDEX(k_due) WHERE state='pending' ORDER BY due_at LIMIT 1"),
        0, age_ms, err);
}
