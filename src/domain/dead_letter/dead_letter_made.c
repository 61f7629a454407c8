#include "orderd/dead_letter_made.h"

#include <inttypes.h>

#include "dead_letter_row.h"
#include "orderd/clock.h"

#define MS(column) "TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," column ") DIV 1000"

static struct slice text_of(const struct strbuf *sql)
{
    return (struct slice){sql->data ? sql->data : "", sql->len};
}

/* ---- messages ---- */

struct listing {
    dead_letter_message_fn on_message;
    dead_letter_of_order_fn on_letter;
    void *arg;
    int64_t letter_id;
};

static bool take_message(void *arg, const struct slice *c, unsigned count)
{
    const struct listing *l = arg;
    struct dead_letter_message m = {.letter_id = l->letter_id,
                                    .key = c[0],
                                    .order_no = c[1],
                                    .who = c[3],
                                    .message_state = c[5],
                                    .order_status = c[6]};
    int64_t new_order;

    if (count != 7 || !db_column_i64(c[2], &new_order) || !db_column_i64(c[4], &m.made_at))
        return false;
    m.new_order = new_order != 0;
    l->on_message(l->arg, &m);
    return true;
}

bool dead_letter_messages(struct db *db, int64_t letter_id, dead_letter_message_fn on_message, void *arg,
                          struct error *err)
{
    struct listing listing = {.on_message = on_message, .arg = arg, .letter_id = letter_id};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT m.message_key,m.order_no,m.new_order,m.who," MS(
                    "m.made_at") ",CAST(l.state AS CHAR),CAST(o.status AS CHAR) FROM dead_letter_made m LEFT JOIN "
                                 "local_message l ON l.message_key=m.message_key LEFT JOIN orders o ON "
                                 "o.order_no=m.order_no WHERE m.letter_id=%" PRId64 " AND m.kind='message' ORDER BY "
                                 "m.id",
                letter_id);
    ok = db_query(db, text_of(&sql), take_message, &listing, err);
    strbuf_release(&sql);
    return ok;
}

static bool take_letter(void *arg, const struct slice *c, unsigned count)
{
    const struct listing *l = arg;
    struct dead_letter_of_order letter = {.reason = c[2]};
    int64_t sent, new_order;

    if (count != 5 || !db_column_i64(c[0], &letter.id) || !dead_letter_state_of_name(c[1], &letter.state) ||
        !db_column_i64(c[3], &sent) || !db_column_i64(c[4], &new_order))
        return false;
    letter.sent = sent != 0;
    letter.new_order = new_order != 0;
    l->on_letter(l->arg, &letter);
    return true;
}

/* Each half by an index of its own. */
bool dead_letters_of_order(struct db *db, const char *order_no, dead_letter_of_order_fn on_letter, void *arg,
                           struct error *err)
{
    struct listing listing = {.on_letter = on_letter, .arg = arg};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(
        &sql,
        "SELECT d.id,CAST(d.state AS CHAR),d.reason,MAX(w.sent),MAX(w.new_order) FROM (SELECT id,0 AS sent,0 AS "
        "new_order FROM dead_letter WHERE order_no='%s' UNION ALL SELECT letter_id,1,new_order FROM "
        "dead_letter_made WHERE order_no='%s') w JOIN dead_letter d ON d.id=w.id GROUP BY "
        "d.id,d.state,d.reason ORDER BY d.id LIMIT 100",
        order_no_checked(order_no), order_no);
    ok = db_query(db, text_of(&sql), take_letter, &listing, err);
    strbuf_release(&sql);
    return ok;
}

/* Once for each letter and message. */
void dead_letter_add_message(const struct db *db, struct strbuf *sql, const struct dead_letter_message *m)
{
    struct strbuf who = STRBUF_INIT;

    strbuf_add_utf8(&who, m->who);
    strbuf_addf(sql,
                "INSERT INTO dead_letter_made(letter_id,kind,new_order,message_key,order_no,who) SELECT d.id,'message',"
                "%d,",
                m->new_order);
    db_add_quoted(db, sql, m->key);
    strbuf_add_char(sql, ',');
    if (m->order_no.len)
        db_add_quoted(db, sql, m->order_no);
    else
        strbuf_add_str(sql, "NULL");
    strbuf_add_char(sql, ',');
    db_add_quoted(db, sql, text_of(&who));
    strbuf_addf(sql,
                " FROM dead_letter d WHERE d.id=%" PRId64
                " AND NOT EXISTS(SELECT 1 FROM dead_letter_made m WHERE m.letter_id=%" PRId64 " AND m.message_key=",
                m->letter_id, m->letter_id);
    db_add_quoted(db, sql, m->key);
    strbuf_add_char(sql, ')');
    strbuf_release(&who);
}

/* ---- bodies ---- */

static bool take_body(void *arg, const struct slice *c, unsigned count)
{
    struct dead_letter_body *body = arg;

    strbuf_add_slice(&body->bytes, c[1]);
    strbuf_add_slice(&body->who, c[2]);
    return count == 4 && db_column_i64(c[0], &body->id) && db_column_i64(c[3], &body->made_at);
}

bool dead_letter_body_read(struct db *db, int64_t letter_id, struct dead_letter_body *out, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    out->id = out->made_at = 0;
    strbuf_reset(&out->bytes);
    strbuf_reset(&out->who);
    strbuf_addf(&sql,
                "SELECT id,body,who," MS("made_at") " FROM dead_letter_made WHERE letter_id=%" PRId64
                                                    " AND kind='body' ORDER BY id DESC LIMIT 1",
                letter_id);
    ok = db_query(db, text_of(&sql), take_body, out, err);
    strbuf_release(&sql);
    return ok;
}

void dead_letter_body_release(struct dead_letter_body *body)
{
    strbuf_release(&body->bytes);
    strbuf_release(&body->who);
    *body = (struct dead_letter_body){0};
}

/* The row of the letter is locked by the statement before, so this one reads what is committed by then. */
void dead_letter_add_body_guard(struct strbuf *sql, int64_t letter_id, int64_t seen)
{
    strbuf_addf(sql,
                "UPDATE dead_letter SET times=times WHERE id=%" PRId64
                " AND (SELECT COALESCE(MAX(m.id),0) FROM dead_letter_made m WHERE m.letter_id=%" PRId64
                " AND m.kind='body')=%" PRId64 ";" DB_GUARD_ONE_ROW ";",
                letter_id, letter_id, seen);
}

/* A payment or a cancellation names no activity, but its order does. */
void dead_letter_add_order(const struct db *db, struct strbuf *sql, const struct dead_letter_facts *f)
{
    strbuf_add_str(sql, "order_no=");
    if (f->order_no[0])
        db_add_quoted(db, sql, slice_of(f->order_no));
    else
        strbuf_add_str(sql, "NULL");
    strbuf_add_str(sql, ",activity_id=");
    if (f->activity_id)
        strbuf_add_i64(sql, f->activity_id);
    else
        strbuf_addf(sql, "(SELECT activity_id FROM orders o WHERE o.order_no='%s')",
                    f->order_no[0] ? order_no_checked(f->order_no) : "");
    strbuf_add_char(sql, ',');
}

static void add_facts(const struct db *db, struct strbuf *sql, int64_t letter_id, struct slice body)
{
    struct broker_delivery as_if = {.body = body};
    struct dead_letter_facts facts;

    dead_letter_facts_read(&as_if, &facts);
    strbuf_add_str(sql, "START TRANSACTION;UPDATE dead_letter SET ");
    dead_letter_add_order(db, sql, &facts);
    strbuf_addf(sql, "times=times WHERE id=%" PRId64 " AND state='open';" DB_GUARD_ONE_ROW ";", letter_id);
}

static void add_hash(const struct db *db, struct strbuf *sql, struct slice body)
{
    strbuf_addf(sql, "'%zu bytes of SHA-256 ',SHA2(_binary", body.len);
    db_add_quoted(db, sql, (struct slice){body.ptr ? body.ptr : "", body.len});
    strbuf_add_str(sql, ",256)");
}

static void add_edit(const struct db *db, struct strbuf *sql, int64_t letter_id, struct slice before, struct slice body,
                     const char *who)
{
    strbuf_addf(sql, "INSERT INTO dead_letter_made SET letter_id=%" PRId64 ",kind='body',", letter_id);
    dead_letter_set_bytes(db, sql, "body", body);
    dead_letter_set_text(db, sql, "who", slice_of(who), 200);
    strbuf_cut(sql, sql->len - 1);
    strbuf_addf(sql, ";INSERT INTO dead_letter_action SET letter_id=%" PRId64 ",action='edited',", letter_id);
    dead_letter_set_text(db, sql, "who", slice_of(who), 200);
    strbuf_add_str(sql, "note=CONCAT(");
    add_hash(db, sql, before);
    strbuf_add_str(sql, ",' became ',");
    add_hash(db, sql, body);
    strbuf_add_str(sql, ");COMMIT");
}

bool dead_letter_body_store(struct db *db, const struct dead_letter_row *row, const struct dead_letter_body *seen,
                            struct slice own, struct slice body, const char *who, bool *stored, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    add_facts(db, &sql, row->id, body);
    dead_letter_add_body_guard(&sql, row->id, seen->id);
    add_edit(db, &sql, row->id, seen->id ? text_of(&seen->bytes) : own, body, who);
    ok = db_run_guarded(db, text_of(&sql), stored, err);
    strbuf_release(&sql);
    return ok;
}
