/* What the files of client/db share; nobody else includes it. */
#ifndef ORDERD_DB_PRIVATE_H
#define ORDERD_DB_PRIVATE_H

#include <mysql.h>
#include <errmsg.h>

#include "orderd/db.h"

#define DB_STATEMENTS_MAX 64
#define DB_KEY_NAME_MAX   64

struct db {
    MYSQL *handle;
    enum db_vendor vendor;
    int version;
    int64_t packet_limit; /* of this session, in bytes; 0 until it is known */
    int64_t clock_ahead;  /* ms: the server's clock less our monotonic one */
    int64_t clock_asked;  /* monotonic ms: when that was found */
    bool dead;            /* the connection is of no use any more */
    unsigned failed_statement;
    uint64_t matched[DB_STATEMENTS_MAX];
    char duplicate_key[DB_KEY_NAME_MAX + 1];
    struct {
        MYSQL_STMT *statement;
        const char *sql; /* the caller's, by which it is known again */
    } rows;              /* what db_insert_rows has prepared last */
};

bool db_require_usable(struct db *db, struct error *err);

/* Translates the handle's last error; notes the duplicate key and whether the connection is still good. what begins the
 * sentence; "": MySQL's own words say enough. False. */
bool db_fail(struct db *db, const char *what, struct error *err);

/* The same with an error that the handle does not have: a prepared statement's. */
bool db_fail_as(struct db *db, unsigned number, const char *text, const char *sqlstate, const char *what,
                struct error *err);

/* Which code a server or client error number stands for, by vendor: numbers above 3000 differ between the two. */
enum error_code db_error_code(enum db_vendor vendor, unsigned number, const char *text);

/* db_tls.c. name begins a sentence: "MySQL 10.0.0.5:3306". */
void db_tls_set_options(MYSQL *handle, const struct conf *conf);

/* Before connecting: whether the files of mysql.tls can be used. */
ORDERD_MUST_CHECK bool db_tls_check_files(const struct conf *conf, const char *name, struct error *err);

/* And who listens on loopback, where the library does not look. Blocks for at most about twice the connect time-out. */
ORDERD_MUST_CHECK bool db_tls_check_loopback(const struct conf *conf, const char *name, struct error *err);

/* After connecting has failed: whether TLS was why; then that is in *err. May ask the server once more. */
bool db_tls_refused(struct db *db, const struct conf *conf, const char *name, struct error *err);

/* After that said no: whether the handshake failed all the same. Then somebody cut it off, since nothing is wrong with
 * it.
 */
bool db_tls_cut_off(const struct db *db);

/* After connecting: whether it is encrypted where it has to be. */
ORDERD_MUST_CHECK bool db_tls_check(struct db *db, const struct conf *conf, const char *name, struct error *err);

/* db_rows.c: the statement that db_insert_rows has prepared goes; before the handle does. */
void db_forget_rows(struct db *db);

/* Asks the server what time it is. */
bool db_ask_clock(struct db *db, struct error *err);

#endif
