/* Many rows by one statement, in binary: MariaDB's bulk execution. The client library has to know it, which CMake asks,
 * and the server, which says so at connecting; a proxy between may take it away. */
#include "db_private.h"

#include <inttypes.h>
#include <string.h>

#include "orderd/check.h"

#ifdef ORDERD_MYSQL_BULK

#define COLUMNS_MAX 32
#define ROWS_MAX    65535 /* of one packet */

/* Most values are numbers of 8 bytes, and texts are short: a row that is longer on the average would be refused by the
 * server, and again and again, so this is generous. */
#define COLUMN_BYTES 64

bool db_takes_rows(const struct db *db, unsigned columns, size_t rows)
{
    unsigned long above_32 = 0; /* the flags that MySQL has not, bit 32 as bit 0 */

    mariadb_get_infov(db->handle, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &above_32);
    return !db->rows.refused && db->vendor == DB_MARIADB && above_32 & (MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32) &&
           rows <= ROWS_MAX &&
           (db->packet_limit == 0 || (uint64_t)rows * columns * COLUMN_BYTES < (uint64_t)db->packet_limit);
}

/* An error that nothing is known of may be the way's and not the rows' (1461: the server prepares no more statements;
 * 1243: somebody between has forgotten ours), and would then come back with every batch. */
static bool failed(struct db *db, struct error *err)
{
    db_fail_as(db, mysql_stmt_errno(db->rows.statement), mysql_stmt_error(db->rows.statement),
               mysql_stmt_sqlstate(db->rows.statement), "", err);
    if (err->code == ERROR_DB_UNKNOWN) {
        db->rows.refused = true;
        db_forget_rows(db);
    }
    return false;
}

static bool prepare(struct db *db, const char *sql, struct error *err)
{
    if (db->rows.statement && db->rows.sql == sql)
        return true;
    db_forget_rows(db);
    db->rows.statement = mysql_stmt_init(db->handle);
    CHECK(db->rows.statement != NULL);
    if (mysql_stmt_prepare(db->rows.statement, sql, strlen(sql)) == 0) {
        db->rows.sql = sql;
        return true;
    }
    failed(db, err);
    db_forget_rows(db);
    return false;
}

static void bind_column(MYSQL_BIND *bind, const struct db_column *column)
{
    bind->buffer = (void *)column->values;
    bind->buffer_type = column->lengths ? MYSQL_TYPE_STRING : MYSQL_TYPE_LONGLONG;
    bind->length = (unsigned long *)column->lengths;
    bind->u.indicator = (char *)column->nulls;
}

/* Bulk execution is young, and proxies pass it on: an order that is not there must not be committed as one that is. */
static bool are_all_there(struct db *db, size_t rows, struct error *err)
{
    uint64_t there = mysql_stmt_affected_rows(db->rows.statement);

    if (there == rows)
        return true;
    db->rows.refused = true;
    return error_set(err, ERROR_INTERNAL, "the server inserted %" PRIu64 " rows of %zu", there, rows);
}

bool db_insert_rows(struct db *db, const char *sql, const struct db_column *columns, unsigned count, size_t rows,
                    struct error *err)
{
    MYSQL_BIND binds[COLUMNS_MAX] = {0};
    unsigned array_size = (unsigned)rows;

    CHECK(count <= COLUMNS_MAX && rows > 0);
    db->failed_statement = 0;
    db->duplicate_key[0] = '\0';
    if (!db_require_usable(db, err) || !prepare(db, sql, err))
        return false;
    CHECK(mysql_stmt_param_count(db->rows.statement) == count);
    for (unsigned i = 0; i < count; i++)
        bind_column(&binds[i], &columns[i]);
    mysql_stmt_attr_set(db->rows.statement, STMT_ATTR_ARRAY_SIZE, &array_size);
    if (mysql_stmt_bind_param(db->rows.statement, binds) != 0 || mysql_stmt_execute(db->rows.statement) != 0)
        return failed(db, err);
    return are_all_there(db, rows, err);
}

void db_forget_rows(struct db *db)
{
    if (db->rows.statement)
        mysql_stmt_close(db->rows.statement);
    db->rows.statement = NULL;
}

#else

bool db_takes_rows(const struct db *db, unsigned columns, size_t rows)
{
    (void)db, (void)columns, (void)rows;
    return false;
}

bool db_insert_rows(struct db *db, const char *sql, const struct db_column *columns, unsigned count, size_t rows,
                    struct error *err)
{
    (void)db, (void)sql, (void)columns, (void)count, (void)rows;
    return error_set(err, ERROR_INTERNAL, "rows were inserted in bulk by a client library that has no such thing");
}

void db_forget_rows(struct db *db)
{
    (void)db;
}

#endif
