/* Statements and their results. */
#include "db_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

bool db_require_usable(struct db *db, struct error *err)
{
    return !db->dead || error_set(err, ERROR_DB_AWAY, "the database connection is lost");
}

static void drop_result(struct db *db)
{
    MYSQL_RES *result = mysql_store_result(db->handle);

    if (result)
        mysql_free_result(result);
}

/* Bytes of a packet before the statement: the command and, by libmysqlclient from 8.0.23 on, two counts of attributes.
 */
#define PACKET_HEAD 3

/* A server that is sent more than its limit closes the socket while we still write, and all that can be seen is a lost
 * connection: so more is never sent. A packet of exactly the limit is refused too. */
static bool fits(const struct db *db, struct slice sql, struct error *err)
{
    return db->packet_limit == 0 || sql.len + PACKET_HEAD < (uint64_t)db->packet_limit ||
           error_set(err, ERROR_DB_DATA, "a statement of %zu bytes is over the server's max_allowed_packet of %" PRId64,
                     sql.len, db->packet_limit);
}

static bool send_text(struct db *db, struct slice sql, struct error *err)
{
    db->failed_statement = 0;
    db->duplicate_key[0] = '\0';
    if (!db_require_usable(db, err) || !db_still_primary(db, err) || !fits(db, sql, err))
        return false;
    if (mysql_real_query(db->handle, sql.ptr, (unsigned long)sql.len) == 0)
        return true;
    return db_fail(db, "", err);
}

bool db_run(struct db *db, struct slice sql, struct error *err)
{
    int more;

    memset(db->matched, 0, sizeof db->matched);
    if (!send_text(db, sql, err))
        return false;
    for (unsigned i = 0;; i++) {
        drop_result(db); /* before it the count of a SELECT is not known */
        if (i < DB_STATEMENTS_MAX && mysql_errno(db->handle) == 0)
            db->matched[i] = mysql_affected_rows(db->handle);
        db->failed_statement = mysql_errno(db->handle) ? i : i + 1;
        if (mysql_errno(db->handle))
            return db_fail(db, "statement result", err);
        more = mysql_next_result(db->handle);
        if (more < 0)
            return true;
        if (more > 0) {
            char what[32];

            snprintf(what, sizeof what, "statement %u", i + 1);
            return db_fail(db, what, err);
        }
    }
}

unsigned db_failed_statement(const struct db *db)
{
    return db->failed_statement;
}

uint64_t db_matched(const struct db *db, unsigned statement)
{
    return statement < DB_STATEMENTS_MAX ? db->matched[statement] : 0;
}

const char *db_duplicate_key(const struct db *db)
{
    return db->duplicate_key;
}

#define COLUMNS_MAX 64

static bool hand_rows(MYSQL_RES *result, db_row_fn on_row, void *arg)
{
    unsigned count = mysql_num_fields(result);
    struct slice columns[COLUMNS_MAX];
    MYSQL_ROW row;

    CHECK(count <= COLUMNS_MAX);
    while ((row = mysql_fetch_row(result))) {
        const unsigned long *lengths = mysql_fetch_lengths(result);

        for (unsigned i = 0; i < count; i++)
            columns[i] = (struct slice){row[i], row[i] ? lengths[i] : 0};
        if (!on_row(arg, columns, count))
            return false;
    }
    return true;
}

bool db_query(struct db *db, struct slice sql, db_row_fn on_row, void *arg, struct error *err)
{
    MYSQL_RES *result;
    bool taken;

    if (!send_text(db, sql, err))
        return false;
    result = mysql_store_result(db->handle);
    if (!result)
        return mysql_errno(db->handle) ? db_fail(db, "query result", err)
                                       : error_set(err, ERROR_INTERNAL, "a query answered without rows");
    taken = hand_rows(result, on_row, arg);
    mysql_free_result(result);
    return taken || error_set(err, ERROR_INTERNAL, "a row of an unexpected shape was read from the database");
}

struct number {
    int64_t value;
    bool found;
};

static bool take_number(void *arg, const struct slice *columns, unsigned count)
{
    struct number *n = arg;

    if (!n->found && count > 0)
        n->found = db_column_i64(columns[0], &n->value);
    return true;
}

bool db_query_i64(struct db *db, struct slice sql, int64_t missing, int64_t *out, struct error *err)
{
    struct number n = {0, false};

    if (!db_query(db, sql, take_number, &n, err))
        return false;
    *out = n.found ? n.value : missing;
    return true;
}

void db_rollback(struct db *db)
{
    char key[sizeof db->duplicate_key];
    struct error ignored;

    if (db->dead)
        return;
    memcpy(key, db->duplicate_key, sizeof key);
    (void)!db_run(db, slice_of("ROLLBACK"), &ignored);
    memcpy(db->duplicate_key, key, sizeof key);
}

bool db_run_guarded(struct db *db, struct slice sql, bool *done, struct error *err)
{
    *done = db_run(db, sql, err);
    if (!*done && db_usable(db))
        db_rollback(db);
    if (*done || err->code != ERROR_DB_CHECK)
        return *done;
    error_clear(err);
    return true;
}

/* Our clock may be wrong, and the server's may run otherwise than ours: now and then it is asked again. */
#define CLOCK_KEPT_MS 600000

bool db_ask_clock(struct db *db, struct error *err)
{
    int64_t now = 0;

    if (!db_query_i64(db, slice_of("SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',NOW(6)) DIV 1000"), 0, &now, err))
        return false;
    db->clock_asked = clock_mono_ms();
    db->clock_ahead = now - db->clock_asked;
    return true;
}

int64_t db_clock_ms(struct db *db)
{
    struct error ignored;

    if (!db->dead && clock_mono_ms() - db->clock_asked > CLOCK_KEPT_MS)
        (void)!db_ask_clock(db, &ignored); /* the next statement fails as well, and tells */
    return db->clock_ahead + clock_mono_ms();
}

/* Between single quotes these bytes mean themselves in every character set and SQL mode. */
static bool plain(struct slice value)
{
    bool other = false;

    for (size_t i = 0; i < value.len; i++)
        other |= value.ptr[i] < ' ' || value.ptr[i] > '~' || value.ptr[i] == '\'' || value.ptr[i] == '\\';
    return !other;
}

/* The library also escapes what needs none: in an event's JSON one byte of five is a double quote, and the server takes
 * each of them back. */
void db_add_quoted(const struct db *db, struct strbuf *sql, struct slice value)
{
    if (plain(value)) {
        strbuf_add_char(sql, '\'');
        strbuf_add(sql, value.ptr, value.len);
        strbuf_add_char(sql, '\'');
        return;
    }
    strbuf_reserve(sql, value.len * 2 + 2);
    strbuf_add_char(sql, '\'');
    /* Writes at most 2 * len + 1 bytes at the end, NUL included. */
    sql->len += mysql_real_escape_string(db->handle, sql->data + sql->len, value.ptr ? value.ptr : "",
                                         (unsigned long)value.len);
    strbuf_add_char(sql, '\'');
}

bool db_column_i64(struct slice column, int64_t *out)
{
    char text[24], *end;
    long long value;

    if (!column.ptr || column.len == 0 || column.len >= sizeof text)
        return false;
    memcpy(text, column.ptr, column.len);
    text[column.len] = '\0';
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno || *end)
        return false;
    *out = value;
    return true;
}

struct finding {
    const char *variable;
    int64_t good;
    const char *sentence;
};

bool db_check_durability(struct db *db, void (*on_warning)(void *arg, const char *sentence), void *arg,
                         struct error *err)
{
    static const struct finding findings[] = {
        {"innodb_flush_log_at_trx_commit", 1,
         "innodb_flush_log_at_trx_commit is not 1: an acknowledged order can vanish when the server's machine fails"},
        {"sync_binlog", 1,
         "sync_binlog is not 1: a replica or a restore from the binary log can miss acknowledged orders"},
    };

    for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) {
        char sql[128];
        int64_t value;

        snprintf(sql, sizeof sql, "SELECT @@global.%s", findings[i].variable);
        if (!db_query_i64(db, slice_of(sql), findings[i].good, &value, err))
            return false;
        if (value != findings[i].good)
            on_warning(arg, findings[i].sentence);
    }
    return true;
}
