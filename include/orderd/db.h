/* One connection to MySQL or MariaDB. One thread owns it. Sessions are set up the same on both (READ COMMITTED, strict
 * sql_mode, UTC, utf8mb4, our lock wait time-out) and checked after connecting; affected rows count *matched* rows.
 *
 * Errors: DB_AWAY, DB_LOST and DB_READ_ONLY leave a connection of no use: close it, open a new one with back-off. After
 * any other error inside a transaction the caller sends ROLLBACK first (db_rollback) and only then decides; a DB_LOST
 * at any statement, COMMIT included, means that the statement may have taken effect.
 *
 * mysql.tls means what conf says, whatever the client library. Where it comes to nothing db_open asks the server once
 * more, to say why; certificates are read at each call.
 *
 * A connection is only used where the server takes writes (DB_READ_ONLY otherwise): that is asked when it is opened,
 * and then once a second before a statement outside of a transaction, so that who only reads does not stay at a primary
 * that was demoted; an error "read-only" (1290 and others) means the same. Of mysql.hosts the first such server is
 * taken, after the one that was the primary last. As soon as one thread has found another, all connections of the
 * process to the old one answer DB_AWAY at their next statement outside of a transaction, without having sent it,
 * whatever that server says of itself. DB_READ_ONLY also where the process would begin with a server, or go over to
 * one, while a second one takes writes too.
 *
 * Blocks at most mysql.connect_timeout (open; three times that where TLS fails; for each server of mysql.hosts) or
 * mysql.read_timeout per answer. */
#ifndef ORDERD_DB_H
#define ORDERD_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/conf.h"
#include "orderd/error.h"
#include "orderd/strbuf.h"

struct db;

/* Before the first thread that uses a database starts, and after the last has ended. */
void db_library_init(void);
void db_library_end(void);

ORDERD_MUST_CHECK struct db *db_open(const struct conf *conf, struct error *err);
void db_close(struct db **db);

/* One server of mysql.hosts, to look at it; *writable: whether it takes writes. It is not used for anything else, and
 * the connection stays where it is. */
ORDERD_MUST_CHECK struct db *db_open_host(const struct conf *conf, const struct conf_node *node, bool *writable,
                                          struct error *err);

/* Whether the connection can still be used; false after the errors named above, and where a proxy hung up on a
 * statement over its packet limit (DB_DATA; one over the server's own limit is not sent at all and leaves it usable).
 */
bool db_usable(const struct db *db);

enum db_vendor { DB_MARIADB, DB_MYSQL };
enum db_vendor db_vendor(const struct db *db);
/* "10.0.0.5:3306", or the path of the socket. */
const char *db_peer(const struct db *db);
/* The cipher that the connection is encrypted by; NULL where it is plain text. */
const char *db_encrypted_by(const struct db *db);
int db_version(const struct db *db); /* e.g. 101119, 90700 */

/* Runs one statement or several, separated by ';', in one round trip; stops at the first that fails. Result sets are
 * read and dropped. `sql` must be built of our own text, numbers, and db_add_quoted values only. */
ORDERD_MUST_CHECK bool db_run(struct db *db, struct slice sql, struct error *err);

/* After db_run: the index (0 = first) of the statement that failed, and how many rows statement i matched, for the
 * statements that ran (up to 64 are remembered). */
unsigned db_failed_statement(const struct db *db);
uint64_t db_matched(const struct db *db, unsigned statement);

/* After DB_DUPLICATE, until the next statement other than db_rollback: the name of the unique key that answered,
 * without the table ("uk_order_no"); "" where the server did not say. */
const char *db_duplicate_key(const struct db *db);

/* Runs one query and hands each row to on_row (columns in order; NULL columns have ptr == NULL). on_row answers false
 * to stop with INTERNAL. */
typedef bool (*db_row_fn)(void *arg, const struct slice *columns, unsigned count);
ORDERD_MUST_CHECK bool db_query(struct db *db, struct slice sql, db_row_fn on_row, void *arg, struct error *err);

/* A statement that raises DB_CHECK unless the statement before it matched exactly one row. It lets a transaction of
 * several statements, COMMIT included, go in one round trip and still stop before its COMMIT: ROW_COUNT() is not a
 * constant, so EXP(710), which is over the range of a double, is computed only where the count is not 1. db_open proves
 * on each new connection that the server raises it. */
#define DB_GUARD_ONE_ROW "SELECT EXP(710 * (ROW_COUNT() <> 1))"

/* db_run of such a transaction, from its beginning to its COMMIT. *done: it was committed. true and not done: a guard
 * or a CHECK of a table stopped it, nothing was written, err is clear. false: err; it is rolled back, or, where the
 * connection was lost, may have been committed. */
ORDERD_MUST_CHECK bool db_run_guarded(struct db *db, struct slice sql, bool *done, struct error *err);

/* Whether db_insert_rows can be used for so many rows: library and server are MariaDB's, nothing between them takes it
 * away, and rows of up to 64 bytes a column, on the average, fit into a packet of the server. Not again on a connection
 * where it failed by DB_UNKNOWN or INTERNAL. */
bool db_takes_rows(const struct db *db, unsigned columns, size_t rows);

/* The values of one column, a row's each. int64_t where there are no lengths, else text by pointer. nulls: NULL, or 1
 * for each row whose value is NULL. The caller's, for the time of the call. */
struct db_column {
    const void *values; /* int64_t[] or const char *[] */
    const unsigned long *lengths;
    const char *nulls;
};

/* One row for each set of values, in one round trip; only where db_takes_rows says so. sql: INSERT INTO ...
 * VALUES(...) of one row, with a ? for each of at most 32 columns; static, since it stays prepared for this connection
 * until another is given. A row that is refused ends it with that row's error, and those before it stand: for use in a
 * transaction. INTERNAL: fewer rows are there than were sent. Costs the server two thirds of the same rows in text
 * (docs/speed.md). */
ORDERD_MUST_CHECK bool db_insert_rows(struct db *db, const char *sql, const struct db_column *columns, unsigned count,
                                      size_t rows, struct error *err);

/* One number from a query's first row and column; *out = missing where there is no row or NULL. */
ORDERD_MUST_CHECK bool db_query_i64(struct db *db, struct slice sql, int64_t missing, int64_t *out, struct error *err);

/* ROLLBACK, its outcome ignored. */
void db_rollback(struct db *db);

/* The server's clock, in ms since 1970, whatever ours says: for telling others what the database will do when. From
 * what it said at most ten minutes ago, or else one round trip. Never inside db_query's on_row. */
int64_t db_clock_ms(struct db *db);

/* Appends 'value', quoted and escaped for this connection's character set. The one place where foreign bytes enter SQL
 * text (numbers are printed by strbuf_add_i64). */
void db_add_quoted(const struct db *db, struct strbuf *sql, struct slice value);

/* Readings of a column; false where it is NULL or not such a number. */
bool db_column_i64(struct slice column, int64_t *out);

/* Settings of the server under which an acknowledged order could vanish or misbehave; one call of on_warning per
 * finding, e.g. innodb_flush_log_at_trx_commit = 2. */
ORDERD_MUST_CHECK bool db_check_durability(struct db *db, void (*on_warning)(void *arg, const char *sentence),
                                           void *arg, struct error *err);

#endif
