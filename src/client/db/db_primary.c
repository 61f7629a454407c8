/* Is this still the server to write to? Whoever only reads would otherwise stay for good at one that was demoted, and
 * act by what is not true any more; whoever writes hears of it by error 1290. */
#include "db_private.h"

#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

/* So long something may be read from a server that was demoted meanwhile. */
#define ASK_AGAIN_MS 1000

/* The reasons' numbers. read_only is a number, and in newer versions of MariaDB a word; super_read_only is MySQL's
 * alone. */
#define IS_ON(variable) "CAST(@@" variable " AS CHAR) NOT IN('0','OFF')"
#define REST            "WHEN " IS_ON("global.read_only") " THEN 1 WHEN " IS_ON("global.innodb_read_only") " THEN 3 "

const char *db_read_only_sql(enum db_vendor vendor)
{
    return vendor == DB_MARIADB ? "CASE " REST "WHEN " IS_ON("session.tx_read_only") " THEN 4 ELSE 0 END"
                                : "CASE WHEN " IS_ON("global.super_read_only") " THEN 2 " REST "WHEN " IS_ON(
                                      "session.transaction_read_only") " THEN 4 ELSE 0 END";
}

const char *db_read_only_why(int64_t number)
{
    static const char *const why[] = {"nothing", "read_only is on", "super_read_only is on", "innodb_read_only is on",
                                      "transactions are read-only by default"};

    CHECK(number >= 0 && number < (int64_t)(sizeof why / sizeof *why));
    return why[number];
}

/* The answer of this query itself can only be lost together with the connection. */
static bool ask(struct db *db, struct error *err)
{
    char sql[512] = "SELECT ";

    db->primary_asked = clock_mono_ms();
    if (db_query_i64(db, slice_of(strcat(sql, db_read_only_sql(db->vendor))), 0, &db->read_only, err))
        return true;
    if (err->code == ERROR_DB_LOST)
        err->code = ERROR_DB_AWAY;
    return false;
}

bool db_still_primary(struct db *db, struct error *err)
{
    char other[DB_PEER_MAX];

    bool looking_on = db->primary_asked == 0 || db->read_only != 0; /* in db_connect, or of db_open_host */

    if (looking_on || db->handle->server_status & SERVER_STATUS_IN_TRANS)
        return true;
    if (db_hosts_moved(db, other)) {
        db->dead = true;
        return error_set(err, ERROR_DB_AWAY, "MySQL at %s is not the primary any more, that is %s; nothing was sent",
                         db->peer, other);
    }
    if (clock_mono_ms() - db->primary_asked < ASK_AGAIN_MS)
        return true;
    if (!ask(db, err))
        return false;
    if (db->read_only == 0)
        return true;
    db->dead = true;
    return error_set(err, ERROR_DB_READ_ONLY, "MySQL at %s takes no writes any more: %s; nothing was sent", db->peer,
                     db_read_only_why(db->read_only));
}
