/* What operators change in the local message table, batch by batch. */
#include "local_message_row.h"

#include "orderd/arena.h"
#include "orderd/backoff.h"
#include "orderd/check.h"
#include "orderd/clock.h"

/* All statements here find their rows by PRIMARY: a search another way would wait for the locks of rows that it only
 * looks at. */

/* A batch meets the relay on the same rows now and then: a deadlock is rolled back and done again. */
#define TRIES 5

static bool conflict(struct db *db, struct backoff *backoff, int *tries, const struct error *err)
{
    db_rollback(db);
    if (error_class_of(err) != ERROR_CLASS_TRANSIENT || ++*tries == TRIES)
        return false;
    clock_sleep_ms(backoff_next(backoff));
    return true;
}

/* ---- retry ---- */

struct judged {
    struct local_message_row row;
    enum local_message_retry result;
};

struct batch {
    const struct local_message_pick *picks;
    size_t count, at; /* at: the pick that the next row is compared with */
    struct local_message_retrying how;
    struct judged *judged;
    struct arena *arena;
};

static enum local_message_retry judge(const struct local_message_row *row, const struct local_message_pick *pick,
                                      struct local_message_retrying how)
{
    if (row->state != pick->state)
        return LOCAL_MESSAGE_RETRY_CHANGED;
    if (row->leased)
        return LOCAL_MESSAGE_RETRY_LEASED;
    if (row->state == LOCAL_MESSAGE_STATE_SENT && !how.sent)
        return LOCAL_MESSAGE_RETRY_SENT;
    return LOCAL_MESSAGE_RETRY_DONE;
}

static struct slice keep(struct arena *arena, struct slice s)
{
    return (struct slice){s.ptr ? arena_strndup(arena, s.ptr, s.len) : NULL, s.len};
}

static void set_gone(struct batch *b)
{
    b->judged[b->at] = (struct judged){{.id = b->picks[b->at].id}, LOCAL_MESSAGE_RETRY_GONE};
    b->at++;
}

/* Rows come by ascending id, as the picks are. */
static bool take_row(void *arg, const struct slice *c, unsigned count)
{
    struct batch *b = arg;
    struct local_message_row row;

    if (!local_message_row_read(c, count, &row))
        return false;
    while (b->at < b->count && b->picks[b->at].id < row.id)
        set_gone(b);
    if (b->at == b->count || b->picks[b->at].id != row.id)
        return false;
    row.key = keep(b->arena, row.key);
    row.topic = keep(b->arena, row.topic);
    row.lease_owner = keep(b->arena, row.lease_owner);
    row.last_error = keep(b->arena, row.last_error);
    b->judged[b->at] = (struct judged){row, judge(&row, &b->picks[b->at], b->how)};
    b->at++;
    return true;
}

static bool read_batch(struct db *db, struct batch *b, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    arena_reset(b->arena);
    b->judged = arena_alloc(b->arena, b->count * sizeof *b->judged);
    b->at = 0;
    strbuf_add_str(&sql, "SELECT " LOCAL_MESSAGE_COLUMNS " FROM local_message FORCE INDEX(PRIMARY) WHERE id IN");
    for (size_t i = 0; i < b->count; i++) {
        strbuf_add_char(&sql, i == 0 ? '(' : ',');
        strbuf_add_i64(&sql, b->picks[i].id);
    }
    strbuf_add_str(&sql, b->how.dry_run ? ") ORDER BY id" : ") ORDER BY id FOR UPDATE");
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_row, b, err);
    strbuf_release(&sql);
    while (ok && b->at < b->count)
        set_gone(b);
    return ok;
}

/* last_error stays: it is the last that is known of the row until the relay has tried it. A former holder of the lease
 * may not mark it any more. */
static bool write_batch(struct db *db, const struct batch *b, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    size_t accepted = 0;
    bool ok;

    strbuf_add_str(
        &sql, "UPDATE local_message FORCE INDEX(PRIMARY) SET state='pending',due_at=NOW(6),attempts=0,lease_owner=NULL,"
              "lease_until=NULL,sent_at=NULL WHERE id IN");
    for (size_t i = 0; i < b->count; i++) {
        if (b->judged[i].result != LOCAL_MESSAGE_RETRY_DONE)
            continue;
        strbuf_add_char(&sql, accepted++ == 0 ? '(' : ',');
        strbuf_add_i64(&sql, b->judged[i].row.id);
    }
    if (accepted == 0)
        strbuf_reset(&sql);
    strbuf_add_str(&sql, accepted ? ");COMMIT" : "COMMIT");
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    return ok;
}

/* The rows stay locked from the look at them to the commit, so that a lease cannot begin in between. */
static bool retry_once(struct db *db, struct batch *b, struct error *err)
{
    if (b->how.dry_run)
        return read_batch(db, b, err);
    return db_run(db, slice_of("BEGIN"), err) && read_batch(db, b, err) && write_batch(db, b, err);
}

bool local_message_retry(struct db *db, const struct local_message_pick *picks, size_t count,
                         struct local_message_retrying how, local_message_retry_fn on_result, void *arg,
                         struct error *err)
{
    struct batch b = {.picks = picks, .count = count, .how = how};
    struct backoff backoff;
    int tries = 0;
    bool ok;

    CHECK(count > 0 && count <= LOCAL_MESSAGE_BATCH_MAX);
    b.arena = arena_create((size_t)64 * 1024);
    backoff_init(&backoff, 5, 200, backoff_seed());
    do
        ok = retry_once(db, &b, err);
    while (!ok && conflict(db, &backoff, &tries, err));
    for (size_t i = 0; i < count && ok; i++)
        on_result(arg, &b.judged[i].row, b.judged[i].result);
    arena_destroy(&b.arena);
    return ok;
}

/* ---- purge ---- */

bool local_message_purge(struct db *db, const int64_t *ids, size_t count, enum local_message_state state,
                         size_t *deleted, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    struct backoff backoff;
    int tries = 0;
    bool ok;

    CHECK(count > 0 && count <= LOCAL_MESSAGE_BATCH_MAX && state != LOCAL_MESSAGE_STATE_PENDING);
    strbuf_addf(&sql, "DELETE m FROM local_message AS m FORCE INDEX(PRIMARY) WHERE m.state='%s' AND m.id IN",
                local_message_state_name(state));
    for (size_t i = 0; i < count; i++) {
        strbuf_add_char(&sql, i == 0 ? '(' : ',');
        strbuf_add_i64(&sql, ids[i]);
    }
    strbuf_add_char(&sql, ')');
    if (state == LOCAL_MESSAGE_STATE_SENT)
        strbuf_add_str(&sql, " AND (m.message_key NOT LIKE 'recover:%' OR EXISTS(SELECT 1 FROM orders AS o WHERE "
                             "o.order_no=SUBSTRING(m.message_key,9)))");
    backoff_init(&backoff, 5, 200, backoff_seed());
    do
        ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    while (!ok && conflict(db, &backoff, &tries, err));
    strbuf_release(&sql);
    *deleted = ok ? db_matched(db, 0) : 0;
    return ok;
}
