/* Connecting and setting a session up. */
#include "db_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

#define DENIED     1045
#define TLS_WANTED 3159 /* MariaDB before 11 says DENIED */

void db_library_init(void)
{
    CHECK_ZERO(mysql_library_init(0, NULL, NULL));
}

void db_library_end(void)
{
    mysql_library_end();
}

static void set_options(MYSQL *handle, const struct conf *conf, const struct db_site *site, int64_t connect_ms)
{
    unsigned connect_s = (unsigned)(connect_ms / 1000);
    unsigned read_s = (unsigned)(conf->mysql_read_timeout / 1000);
    unsigned tcp = MYSQL_PROTOCOL_TCP;

    mysql_options(handle, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
    mysql_options(handle, MYSQL_OPT_READ_TIMEOUT, &read_s);
    mysql_options(handle, MYSQL_OPT_WRITE_TIMEOUT, &read_s);
    mysql_options(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    /* Never MYSQL_OPT_RECONNECT: it would drop transaction and session settings behind our back, and even switching it
     * off makes libmysqlclient print a warning. */
    if (!site->socket[0]) /* else "localhost" would mean a socket, at a place of the library's choice */
        mysql_options(handle, MYSQL_OPT_PROTOCOL, &tcp);
    db_tls_set_options(handle, conf, site);
}

static void note_server(struct db *db)
{
    const char *info = mysql_get_server_info(db->handle);
    unsigned major = 0, minor = 0, patch = 0;

    db->vendor = strstr(info, "MariaDB") ? DB_MARIADB : DB_MYSQL;
    /* MariaDB before 11 puts this in front for the sake of old replicas; libmysqlclient does not take it off. */
    if (strncmp(info, "5.5.5-", 6) == 0)
        info += 6;
    if (sscanf(info, "%u.%u.%u", &major, &minor, &patch) >= 2)
        db->version = (int)(major * 10000 + minor * 100 + patch);
}

/* A process that is stopped, or cut off, in the middle of a transaction keeps its rows locked no longer than we
 * ourselves would wait for an answer, also where it has written nothing yet (the first limit is for all transactions,
 * the second, which a server may have set otherwise, goes before it). MySQL has no such limit; nor has it transactions
 * of ours that stay open between two round trips while new orders are written (db_insert_rows). */
static void add_idle_limit(char *sql, size_t size, const struct conf *conf)
{
    size_t len = strlen(sql);
    int limit_s = (int)(conf->mysql_read_timeout / 1000);

    snprintf(sql + len, size - len, ",idle_transaction_timeout=%d,idle_write_transaction_timeout=%d", limit_s, limit_s);
}

/* MariaDB makes a table of a list of 1,000 and more in IN(...) and joins that with ours: by an index that is not unique
 * it then reads the whole of a table of millions (EXPLAIN: ALL) instead of a thousand places of the index. */
#define LISTS_STAY_LISTS ",in_predicate_conversion_threshold=0"

/* Whatever global setting would change what our statements mean: a limit that cuts answers short, a COMMIT that begins
 * another transaction or hangs up, unique keys that are not looked at. */
static bool set_session(struct db *db, const struct conf *conf, struct error *err)
{
    char sql[640];

    snprintf(sql, sizeof sql,
             "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
             "SET SESSION sql_mode='STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"
             "time_zone='+00:00',autocommit=1,completion_type=0,unique_checks=1,"
             "sql_select_limit=18446744073709551615,innodb_lock_wait_timeout=%d%s",
             (int)(conf->mysql_lock_wait_timeout / 1000), db->vendor == DB_MARIADB ? LISTS_STAY_LISTS : "");
    if (db->vendor == DB_MARIADB)
        add_idle_limit(sql, sizeof sql, conf);
    return db_run(db, slice_of(sql), err);
}

/* What the rest relies on is asked for, not assumed: a proxy or an init_connect may have changed it. */
static bool check_session(struct db *db, struct error *err)
{
    const char *isolation = db->vendor == DB_MYSQL ? "transaction_isolation" : "tx_isolation";
    char sql[768];
    int64_t good;
    struct error guard = {0};

    snprintf(sql, sizeof sql,
             "SELECT IF(@@session.%s='READ-COMMITTED' AND @@session.sql_mode LIKE '%%STRICT_ALL_TABLES%%' AND "
             "@@session.time_zone='+00:00' AND @@session.character_set_client='utf8mb4',1+(%s),0)",
             isolation, db_read_only_sql(db->vendor));
    db->primary_asked = clock_mono_ms();
    if (!db_query_i64(db, slice_of(sql), 0, &good, err))
        return false;
    db->read_only = good - 1;
    if (good && !db_query_i64(db, slice_of("SELECT @@session.max_allowed_packet"), 0, &db->packet_limit, err))
        return false;
    if (!good)
        return error_set(err, ERROR_DB_SETUP,
                         "the session did not take isolation READ COMMITTED, strict sql_mode, UTC and utf8mb4");
    if (db_run(db, slice_of("DO 1;" DB_GUARD_ONE_ROW), &guard) || guard.code != ERROR_DB_CHECK)
        return error_set(err, ERROR_DB_SETUP, "the server does not raise an error where a guard statement must fail");
    return true;
}

static bool check_version(const struct db *db, struct error *err)
{
    int least = db->vendor == DB_MARIADB ? 100600 : 80016;

    /* SKIP LOCKED (MariaDB 10.6, MySQL 8.0.1) and enforced CHECK constraints (MySQL 8.0.16). */
    if (db->version >= least)
        return true;
    return error_set(err, ERROR_DB_SETUP,
                     "the server is %s %d.%d.%d; orderd needs MariaDB 10.6 or MySQL 8.0.16 or later",
                     db->vendor == DB_MARIADB ? "MariaDB" : "MySQL", db->version / 10000, db->version / 100 % 100,
                     db->version % 100);
}

/* What the number of a refusal does not say. */
static const char *hint(unsigned number)
{
    if (number == DENIED)
        return "; see mysql.password_file, and whether the server or the account wants TLS or a certificate "
               "(mysql.tls, "
               "mysql.tls_cert_file)";
    return number == TLS_WANTED ? "; set mysql.tls" : "";
}

static bool no_connection(struct db *db, const struct conf *conf, const struct db_site *site, int64_t connect_ms,
                          struct error *err)
{
    unsigned number = mysql_errno(db->handle);
    char what[ERROR_TEXT_MAX];

    if (db_tls_refused(db, conf, site, connect_ms, err))
        return false;
    if (db->late)
        return error_set(err, ERROR_DB_AWAY, "cannot connect to MySQL at %s as %s: it does not go on with the login",
                         db->peer, conf->mysql_user);
    snprintf(what, sizeof what, "cannot connect to MySQL at %s as %s", db->peer, conf->mysql_user);
    db_fail(db, what, err);
    if (hint(number)[0])
        error_set(err, err->code, "%s%s", (const char *)memcpy(what, err->text, sizeof what), hint(number));
    /* Whatever goes wrong before there is a session cannot have had an effect. */
    if (err->code == ERROR_DB_LOST || db_tls_cut_off(db))
        err->code = ERROR_DB_AWAY;
    return false;
}

static void name_peer(struct db *db, const struct db_site *site)
{
    if (site->socket[0])
        snprintf(db->peer, sizeof db->peer, "%s", site->socket);
    else
        snprintf(db->peer, sizeof db->peer, strchr(site->host, ':') ? "[%s]:%d" : "%s:%d", site->host, site->port);
}

static bool log_in(struct db *db, const struct conf *conf, const struct db_site *site, int64_t connect_ms,
                   struct error *err)
{
    name_peer(db, site);
    if (!db_tls_check_files(db, conf, site, err) || !db_tls_check_loopback(db, conf, site, connect_ms, err))
        return false;
    set_options(db->handle, conf, site, connect_ms);
    if (db_login(db, conf, site, connect_ms))
        return db_tls_check(db, conf, site, err);
    return no_connection(db, conf, site, connect_ms, err);
}

static bool check_writable(struct db *db, bool *writable, struct error *err)
{
    if (writable)
        *writable = db->read_only == 0;
    return db->read_only == 0 || writable ||
           error_set(err, ERROR_DB_READ_ONLY, "MySQL at %s takes no writes: %s", db->peer,
                     db_read_only_why(db->read_only));
}

struct db *db_connect(const struct conf *conf, const struct db_site *site, int64_t connect_ms, bool *writable,
                      struct error *err)
{
    struct db *db = check_calloc(1, sizeof *db);

    db->handle = mysql_init(NULL);
    CHECK(db->handle != NULL);
    if (!log_in(db, conf, site, connect_ms, err)) {
        db_close(&db);
        return NULL;
    }
    note_server(db);
    if (!check_version(db, err) || !set_session(db, conf, err) || !check_session(db, err) ||
        !check_writable(db, writable, err) || !db_ask_clock(db, err))
        db_close(&db);
    return db;
}

struct db *db_open(const struct conf *conf, struct error *err)
{
    struct db_site site = {.host = conf->mysql_host, .port = (int)conf->mysql_port, .socket = conf->mysql_socket};

    return conf_node_count(conf->mysql_hosts) > 0 ? db_hosts_open(conf, err)
                                                  : db_connect(conf, &site, conf->mysql_connect_timeout, NULL, err);
}

void db_close(struct db **db)
{
    if (!*db)
        return;
    db_forget_rows(*db);
    mysql_close((*db)->handle);
    free(*db);
    *db = NULL;
}

bool db_usable(const struct db *db)
{
    return !db->dead;
}

const char *db_peer(const struct db *db)
{
    return db->peer;
}

enum db_vendor db_vendor(const struct db *db)
{
    return db->vendor;
}

int db_version(const struct db *db)
{
    return db->version;
}
