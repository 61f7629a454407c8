#include "orderd/dead_letter_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dead_letter_row.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/fault.h"

#define CONFLICTS_MAX 10
#define LOCK_NAME     "CONCAT('orderd.drain.',LEFT(DATABASE(),40))"

static const char *const state_names[DEAD_LETTER_STATE_COUNT] = {
#define X(state, name) [DEAD_LETTER_##state] = name,
#include "orderd/tbl/dead_letter_state.h"
#undef X
};

const char *dead_letter_state_name(enum dead_letter_state state)
{
    CHECK(state < DEAD_LETTER_STATE_COUNT);
    return state_names[state];
}

bool dead_letter_state_of_name(struct slice name, enum dead_letter_state *out)
{
    for (int i = 0; i < DEAD_LETTER_STATE_COUNT; i++) {
        if (slice_is(name, state_names[i])) {
            *out = (enum dead_letter_state)i;
            return true;
        }
    }
    return false;
}

/* ---- statements: "name=value,", for INSERT ... SET and UPDATE ... SET alike ---- */

void dead_letter_set_bytes(const struct db *db, struct strbuf *sql, const char *name, struct slice value)
{
    strbuf_addf(sql, "%s=_binary", name);
    db_add_quoted(db, sql, value);
    strbuf_add_char(sql, ',');
}

void dead_letter_set_text(const struct db *db, struct strbuf *sql, const char *name, struct slice value, size_t max)
{
    struct strbuf text = STRBUF_INIT;

    /* A byte that is no UTF-8 becomes U+FFFD: one character, as which a column counts it. */
    strbuf_add_utf8(&text, (struct slice){value.ptr, value.len < max ? value.len : max});
    strbuf_addf(sql, "%s=", name);
    db_add_quoted(db, sql, (struct slice){text.data ? text.data : "", text.len});
    strbuf_add_char(sql, ',');
    strbuf_release(&text);
}

void dead_letter_add_action(const struct db *db, struct strbuf *sql, int64_t id, const char *action, const char *who,
                            struct slice note)
{
    strbuf_add_str(sql, "INSERT INTO dead_letter_action SET ");
    dead_letter_set_text(db, sql, "who", slice_of(who), DEAD_LETTER_WHO_MAX);
    dead_letter_set_text(db, sql, "note", note, DEAD_LETTER_NOTE_MAX);
    strbuf_addf(sql, "action='%s',letter_id=%" PRId64, action, id);
}

/* The length keeps a message id from going on in the body. */
void dead_letter_add_key(const struct db *db, struct strbuf *sql, struct slice message_id, struct slice body)
{
    strbuf_addf(sql, "UNHEX(SHA2(CONCAT('%zu:',_binary", message_id.len);
    db_add_quoted(db, sql, message_id);
    strbuf_add_str(sql, ",_binary");
    db_add_quoted(db, sql, body);
    strbuf_add_str(sql, "),256))");
}

/* A payment or a cancellation names no activity, but its order does. */
static void set_order(const struct db *db, struct strbuf *sql, const struct dead_letter_facts *f)
{
    if (f->activity_id)
        strbuf_addf(sql, "activity_id=%" PRId64 ",", f->activity_id);
    if (!f->order_no[0])
        return;
    dead_letter_set_text(db, sql, "order_no", slice_of(f->order_no), sizeof f->order_no);
    if (f->activity_id)
        return;
    strbuf_add_str(sql, "activity_id=(SELECT activity_id FROM orders o WHERE o.order_no=");
    db_add_quoted(db, sql, slice_of(f->order_no));
    strbuf_add_str(sql, "),");
}

/* What may differ from one death of a letter to the next. */
static void set_death(const struct db *db, struct strbuf *sql, const struct broker_delivery *d,
                      const struct dead_letter_facts *f)
{
    struct strbuf headers = STRBUF_INIT;
    char at[32];

    dead_letter_add_headers(&headers, d);
    strbuf_add_str(sql, "headers=");
    db_add_quoted(db, sql, (struct slice){headers.data, headers.len});
    strbuf_addf(sql, ",reason='%s',", f->reason);
    dead_letter_set_text(db, sql, "detail", f->detail, 400);
    dead_letter_set_text(db, sql, "queue", f->queue, 255);
    clock_format_sql(at, sizeof at, f->died_at);
    if (f->died_at)
        strbuf_addf(sql, "died_at='%s',", at);
    else
        strbuf_add_str(sql, "died_at=UTC_TIMESTAMP(3),");
    strbuf_addf(sql, "death_told=%d,attempts=%" PRId64, f->died_at != 0, f->attempts);
    strbuf_release(&headers);
}

/* Where the row is there, nothing of it changes, and LAST_INSERT_ID() is its id all the same. */
static void add_insert(const struct db *db, struct strbuf *sql, const struct broker_delivery *d,
                       const struct dead_letter_facts *f)
{
    strbuf_add_str(sql, "INSERT INTO dead_letter SET letter_key=");
    dead_letter_add_key(db, sql, d->message_id, d->body);
    strbuf_add_char(sql, ',');
    dead_letter_set_bytes(db, sql, "message_id", d->message_id);
    dead_letter_set_bytes(db, sql, "content_type", d->content_type);
    dead_letter_set_bytes(db, sql, "body", d->body);
    set_order(db, sql, f);
    strbuf_add_str(sql, "times=0,"); /* until this transaction has counted it */
    set_death(db, sql, d, f);
    strbuf_add_str(sql, " ON DUPLICATE KEY UPDATE id=LAST_INSERT_ID(id)");
}

/* ---- taking ---- */

bool dead_letter_store_lock(struct db *db, bool *locked, struct error *err)
{
    int64_t got;

    *locked = false;
    if (!db_query_i64(db, slice_of("SELECT GET_LOCK(" LOCK_NAME ",0)"), 0, &got, err))
        return false;
    *locked = got == 1;
    return true;
}

/* A later time of death tells by itself. Else: a delivery that nobody has had before cannot be one that a drain stored
 * and did not acknowledge; of any other it is not known, and a letter that somebody looks at in vain is better than one
 * that nobody looks at. */
enum dead_letter_taken dead_letter_judge(enum dead_letter_state state, int64_t row_died_at, int64_t died_at,
                                         bool redelivered)
{
    if (died_at && row_died_at)
        return died_at > row_died_at ? DEAD_LETTER_AGAIN : DEAD_LETTER_KNOWN;
    return redelivered && state == DEAD_LETTER_OPEN ? DEAD_LETTER_KNOWN : DEAD_LETTER_AGAIN;
}

struct met { /* the row that the INSERT made or met */
    int64_t id, times, died_at;
    enum dead_letter_state state;
};

static bool take_met(void *arg, const struct slice *c, unsigned count)
{
    struct met *met = arg;

    return count == 4 && db_column_i64(c[0], &met->id) && db_column_i64(c[1], &met->times) &&
           db_column_i64(c[2], &met->died_at) && dead_letter_state_of_name(c[3], &met->state);
}

static bool read_met(struct db *db, struct met *met, struct error *err)
{
    *met = (struct met){0};
    return db_query(db,
                    slice_of("SELECT id,times,IF(death_told,TIMESTAMPDIFF(MICROSECOND,'1970-01-01',died_at) DIV 1000,0)"
                             ",CAST(state AS CHAR) FROM dead_letter WHERE id=LAST_INSERT_ID()"),
                    take_met, met, err) &&
           (met->id > 0 || error_set(err, ERROR_INTERNAL, "a dead letter that was just stored is not there"));
}

static const char *const actions[] = {
    [DEAD_LETTER_NEW] = "drained",
    [DEAD_LETTER_KNOWN] = "met_again",
    [DEAD_LETTER_AGAIN] = "died_again",
};

/* Counts it; a letter that died anew says why anew, and waits for somebody again. */
static bool account(struct db *db, const struct broker_delivery *d, const struct dead_letter_facts *f,
                    const struct met *met, enum dead_letter_taken taken, const char *who, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "UPDATE dead_letter SET ");
    if (taken == DEAD_LETTER_AGAIN) {
        strbuf_add_str(&sql, "state='open',");
        set_death(db, &sql, d, f);
        strbuf_add_char(&sql, ',');
    }
    strbuf_addf(&sql, "times=times+%d WHERE id=%" PRId64 ";", taken != DEAD_LETTER_KNOWN, met->id);
    dead_letter_add_action(db, &sql, met->id, actions[taken], who, slice_of(f->reason));
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    return ok;
}

static bool take_one(struct db *db, const struct broker_delivery *d, const char *who, enum dead_letter_taken *taken,
                     struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    struct dead_letter_facts facts;
    struct met met;
    bool ok;

    dead_letter_facts_read(d, &facts);
    add_insert(db, &sql, d, &facts);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err) && read_met(db, &met, err);
    strbuf_release(&sql);
    if (!ok)
        return false;
    *taken =
        met.times == 0 ? DEAD_LETTER_NEW : dead_letter_judge(met.state, met.died_at, facts.died_at, d->redelivered);
    return account(db, d, &facts, &met, *taken, who, err);
}

/* One transaction; false: nothing of it is known to be there. */
static bool take_all(struct db *db, const struct broker_delivery *list, size_t count, const char *who,
                     enum dead_letter_taken *out, struct error *err)
{
    bool ok = db_run(db, slice_of("START TRANSACTION"), err);

    for (size_t i = 0; i < count && ok; i++)
        ok = take_one(db, &list[i], who, &out[i], err);
    if (ok)
        FAULT(DRAIN_BEFORE_COMMIT);
    ok = ok && db_run(db, slice_of("COMMIT"), err);
    if (ok)
        FAULT(DRAIN_AFTER_COMMIT);
    else if (db_usable(db))
        db_rollback(db);
    return ok;
}

static bool take_patiently(struct db *db, const struct broker_delivery *list, size_t count, const char *who,
                           enum dead_letter_taken *out, struct error *err)
{
    for (int tries = 1;; tries++) {
        error_clear(err);
        if (take_all(db, list, count, who, out, err))
            return true;
        if (error_class_of(err) != ERROR_CLASS_TRANSIENT || tries == CONFLICTS_MAX)
            return false;
        clock_sleep_ms((int64_t)10 * tries);
    }
}

bool dead_letter_store_take(struct db *db, const struct broker_delivery *list, size_t count, const char *who,
                            enum dead_letter_taken *out, struct error *refusal, struct error *err)
{
    bool ok = take_patiently(db, list, count, who, out, err);

    if (ok || !db_usable(db) || error_class_of(err) != ERROR_CLASS_PERMANENT)
        return ok;
    if (count == 1) { /* the letter itself is at fault */
        *refusal = *err;
        error_clear(err);
        out[0] = DEAD_LETTER_LEFT;
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (!dead_letter_store_take(db, &list[i], 1, who, &out[i], refusal, err))
            return false;
    }
    return true;
}
