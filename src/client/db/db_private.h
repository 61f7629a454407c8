/* What the files of client/db share; nobody else includes it. */
#ifndef ORDERD_DB_PRIVATE_H
#define ORDERD_DB_PRIVATE_H

#include <mysql.h>
#include <errmsg.h>

#include "orderd/db.h"

#define DB_STATEMENTS_MAX 64
#define DB_PEER_MAX       320
#define DB_KEY_NAME_MAX   64

/* Where one server is. The texts are borrowed from the configuration, or from a conf_node. */
struct db_site {
    const char *host; /* what its certificate must name */
    int port;
    const char *socket; /* "": by TCP */
    const char *named;  /* where host and port are to be mended; NULL: mysql.host and mysql.port */
};

struct db {
    MYSQL *handle;
    char peer[DB_PEER_MAX]; /* "host:port", or the path of the socket */
    enum db_vendor vendor;
    int version;
    int64_t packet_limit;      /* of this session, in bytes; 0 until it is known */
    int64_t clock_ahead;       /* ms: the server's clock less our monotonic one */
    int64_t clock_asked;       /* monotonic ms: when that was found */
    bool late;                 /* the login took longer than it may, and was given up */
    bool dead;                 /* the connection is of no use any more */
    int64_t read_only;         /* why it cannot be written, when it was asked last; 0: it can */
    int64_t primary_asked;     /* monotonic ms: when that was */
    unsigned list, generation; /* db_hosts.c: of which list of servers, and which of its primaries; 0: of none */
    unsigned failed_statement;
    uint64_t matched[DB_STATEMENTS_MAX];
    char duplicate_key[DB_KEY_NAME_MAX + 1];
    struct {
        MYSQL_STMT *statement;
        const char *sql; /* the caller's, by which it is known again */
        bool refused;    /* not on this connection: it failed in a way that may have nothing to do with the rows */
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

/* db.c: one server, with a session as it has to be. *writable NULL: one that cannot be written is refused
 * (DB_READ_ONLY); else that is told there. connect_ms: instead of mysql.connect_timeout. */
ORDERD_MUST_CHECK struct db *db_connect(const struct conf *conf, const struct db_site *site, int64_t connect_ms,
                                        bool *writable, struct error *err);

/* db_login.c: the login alone. false: see the handle's error, or db->late. */
ORDERD_MUST_CHECK bool db_login(struct db *db, const struct conf *conf, const struct db_site *site, int64_t connect_ms);

/* db_hosts.c: db_open for mysql.hosts. */
ORDERD_MUST_CHECK struct db *db_hosts_open(const struct conf *conf, struct error *err);

/* db_primary.c: an expression that is 0 on a server that can be written, and else the number of a reason. */
const char *db_read_only_sql(enum db_vendor vendor);
const char *db_read_only_why(int64_t number);

/* Before a statement is sent: whether the server still is the one to write to. Asks it at most once a second, and never
 * inside a transaction. false: nothing was sent, db is dead, DB_READ_ONLY or DB_AWAY. */
ORDERD_MUST_CHECK bool db_still_primary(struct db *db, struct error *err);

/* db_hosts.c: whether the process has found another primary since; its name is then in other. */
bool db_hosts_moved(struct db *db, char other[DB_PEER_MAX]);

/* db_tls.c. A site's sentences begin with "MySQL at 10.0.0.5:3306". */
void db_tls_set_options(MYSQL *handle, const struct conf *conf, const struct db_site *site);

/* Before connecting: whether the files of mysql.tls can be used. */
ORDERD_MUST_CHECK bool db_tls_check_files(const struct db *db, const struct conf *conf, const struct db_site *site,
                                          struct error *err);

/* And who listens on loopback, where the library does not look. Blocks for at most about twice connect_ms. */
ORDERD_MUST_CHECK bool db_tls_check_loopback(const struct db *db, const struct conf *conf, const struct db_site *site,
                                             int64_t connect_ms, struct error *err);

/* After connecting has failed: whether TLS was why; then that is in *err. May ask the server once more, where it has
 * answered at all: blocks for at most about twice connect_ms then. */
bool db_tls_refused(struct db *db, const struct conf *conf, const struct db_site *site, int64_t connect_ms,
                    struct error *err);

/* After that said no: whether the handshake failed all the same. Then somebody cut it off, since nothing is wrong with
 * it.
 */
bool db_tls_cut_off(const struct db *db);

/* After connecting: whether it is encrypted where it has to be. */
ORDERD_MUST_CHECK bool db_tls_check(struct db *db, const struct conf *conf, const struct db_site *site,
                                    struct error *err);

/* db_rows.c: the statement that db_insert_rows has prepared goes; before the handle does. */
void db_forget_rows(struct db *db);

/* Asks the server what time it is. */
bool db_ask_clock(struct db *db, struct error *err);

#endif
