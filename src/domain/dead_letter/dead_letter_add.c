/* A letter that another table had. */
#include "dead_letter_row.h"

#include <inttypes.h>

#include "orderd/clock.h"

static bool look(struct db *db, const struct dead_letter_row *row, bool *added, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    int64_t there;
    bool ok;

    strbuf_add_str(&sql, "SELECT COUNT(*) FROM dead_letter WHERE letter_key=");
    dead_letter_add_key(db, &sql, row->message_id, row->body);
    ok = db_query_i64(db, (struct slice){sql.data, sql.len}, 0, &there, err);
    strbuf_release(&sql);
    *added = ok && there == 0;
    return ok;
}

static void add_insert(const struct db *db, struct strbuf *sql, const struct dead_letter_row *row)
{
    char at[32];

    strbuf_add_str(sql, "INSERT INTO dead_letter SET letter_key=");
    dead_letter_add_key(db, sql, row->message_id, row->body);
    strbuf_add_char(sql, ',');
    dead_letter_set_bytes(db, sql, "message_id", row->message_id);
    dead_letter_set_bytes(db, sql, "content_type", row->content_type);
    dead_letter_set_bytes(db, sql, "body", row->body);
    strbuf_add_str(sql, "headers=");
    db_add_quoted(db, sql, row->headers);
    strbuf_add_char(sql, ',');
    dead_letter_set_text(db, sql, "reason", row->reason, 40);
    dead_letter_set_text(db, sql, "detail", row->detail, row->detail.len);
    dead_letter_set_text(db, sql, "queue", row->queue, row->queue.len);
    if (row->order_no.ptr)
        dead_letter_set_text(db, sql, "order_no", row->order_no, row->order_no.len);
    if (row->activity_id)
        strbuf_addf(sql, "activity_id=%" PRId64 ",", row->activity_id);
    clock_format_sql(at, sizeof at, row->died_at);
    strbuf_addf(sql, "attempts=%" PRId64 ",times=%" PRId64 ",death_told=%d,died_at='%s',state='%s';", row->attempts,
                row->times, row->death_told, at, dead_letter_state_name(row->state));
}

/* LAST_INSERT_ID() is the letter's only until the first of these lines has an id of its own. */
static void add_history(const struct db *db, struct strbuf *sql, const struct dead_letter_origin *origin)
{
    char at[32];

    strbuf_add_str(sql, "SET @letter=LAST_INSERT_ID();");
    for (size_t i = 0; i < origin->history_count; i++) {
        const struct dead_letter_action *a = &origin->history[i];

        strbuf_add_str(sql, "INSERT INTO dead_letter_action SET ");
        dead_letter_set_text(db, sql, "who", a->who, a->who.len);
        dead_letter_set_text(db, sql, "note", a->note, a->note.len);
        dead_letter_set_text(db, sql, "action", a->action, a->action.len);
        clock_format_sql(at, sizeof at, a->done_at);
        strbuf_addf(sql, "done_at='%s',letter_id=@letter;", at);
    }
    strbuf_add_str(sql, "INSERT INTO dead_letter_action SET action='imported',");
    dead_letter_set_text(db, sql, "who", slice_of(origin->who), DEAD_LETTER_WHO_MAX);
    dead_letter_set_text(db, sql, "note", origin->note, DEAD_LETTER_NOTE_MAX);
    strbuf_add_str(sql, "letter_id=@letter;");
}

static void add_new_body(const struct db *db, struct strbuf *sql, const struct dead_letter_origin *origin)
{
    if (!origin->new_body.ptr)
        return;
    strbuf_add_str(sql, "INSERT INTO dead_letter_made SET kind='body',");
    dead_letter_set_bytes(db, sql, "body", origin->new_body);
    dead_letter_set_text(db, sql, "who", origin->new_body_by, origin->new_body_by.len);
    strbuf_add_str(sql, "letter_id=@letter;");
}

bool dead_letter_store_add(struct db *db, const struct dead_letter_row *row, const struct dead_letter_origin *origin,
                           bool dry_run, bool *added, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    if (!look(db, row, added, err))
        return false;
    if (dry_run || !*added)
        return true;
    strbuf_add_str(&sql, "START TRANSACTION;");
    add_insert(db, &sql, row);
    add_history(db, &sql, origin);
    add_new_body(db, &sql, origin);
    strbuf_add_str(&sql, "COMMIT");
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    if (ok)
        return true;
    if (db_usable(db))
        db_rollback(db);
    if (err->code != ERROR_DB_DUPLICATE)
        return false;
    error_clear(err); /* somebody was faster */
    *added = false;
    return true;
}
