/* The error taxonomy of MySQL and MariaDB (pitfalls C4): a table from numbers to what to do about them. */
#include "db_private.h"

#include <stdio.h>
#include <string.h>

#define ANY     3u
#define MARIADB 1u
#define MYSQLV  2u

static const struct {
    unsigned number;
    unsigned vendors;
    enum error_code code;
} numbers[] = {
    /* The answer was lost, or the statement was cut short: it may have taken effect. */
    {2006, ANY, ERROR_DB_LOST},
    {2013, ANY, ERROR_DB_LOST},
    {2014, ANY, ERROR_DB_LOST},
    {2027, ANY, ERROR_DB_LOST},
    {2055, ANY, ERROR_DB_LOST},
    {1053, ANY, ERROR_DB_LOST},
    {1152, ANY, ERROR_DB_LOST},
    {1158, ANY, ERROR_DB_LOST},
    {1159, ANY, ERROR_DB_LOST},
    {1160, ANY, ERROR_DB_LOST},
    {1161, ANY, ERROR_DB_LOST},
    {1180, ANY, ERROR_DB_LOST},
    {1317, ANY, ERROR_DB_LOST},
    {1927, MARIADB, ERROR_DB_LOST},
    {3169, MYSQLV, ERROR_DB_LOST},
    {4031, MYSQLV, ERROR_DB_LOST},
    {4081, MYSQLV, ERROR_DB_LOST}, /* over a limit of memory: this connection is ended */
    {4082, MYSQLV, ERROR_DB_LOST},
    /* No connection to be had. */
    {2000, ANY, ERROR_DB_LOST}, /* libmysqlclient 9.7, of a connection that ended in the login without a word */
    {2002, ANY, ERROR_DB_AWAY},
    {2003, ANY, ERROR_DB_AWAY},
    {2005, ANY, ERROR_DB_AWAY},
    {2012, ANY, ERROR_DB_AWAY},
    {2026, ANY, ERROR_DB_SETUP},
    {1040, ANY, ERROR_DB_AWAY},
    {1043, ANY, ERROR_DB_AWAY},
    {1129, ANY, ERROR_DB_AWAY},
    {1135, ANY, ERROR_DB_AWAY}, /* no thread left for a connection */
    {1184, ANY, ERROR_DB_AWAY},
    {1203, ANY, ERROR_DB_AWAY},
    {1226, ANY, ERROR_DB_AWAY},
    {1218, ANY, ERROR_DB_AWAY},
    {3032, MYSQLV, ERROR_DB_AWAY}, /* offline mode */
    {6400, MYSQLV, ERROR_DB_AWAY}, /* offline mode, with its reason */
    {3168, MYSQLV, ERROR_DB_AWAY},
    /* Group Replication lets no transaction begin: a new primary has yet to apply what the old one had committed, or
     * the member is on its way into the group, or out of it. */
    {3781, MYSQLV, ERROR_DB_AWAY},
    {3782, MYSQLV, ERROR_DB_AWAY},
    {3783, MYSQLV, ERROR_DB_AWAY},
    {3796, MYSQLV, ERROR_DB_AWAY},
    {3797, MYSQLV, ERROR_DB_AWAY},
    {3798, MYSQLV, ERROR_DB_AWAY},
    {3799, MYSQLV, ERROR_DB_AWAY},
    /* The whole transaction again, at once. */
    {1213, ANY, ERROR_DB_CONFLICT},
    {1205, ANY, ERROR_DB_CONFLICT},
    {1020, ANY, ERROR_DB_CONFLICT},
    {1412, ANY, ERROR_DB_CONFLICT},
    {1615, ANY, ERROR_DB_CONFLICT},
    {1047, ANY, ERROR_DB_AWAY}, /* a Galera node that is not ready */
    {3101, MYSQLV, ERROR_DB_CONFLICT},
    /* Not the primary (1290 has other meanings: see below). */
    {1792, ANY, ERROR_DB_READ_ONLY},
    {1836, ANY, ERROR_DB_READ_ONLY},
    {1036, ANY, ERROR_DB_READ_ONLY}, /* innodb_read_only, innodb_force_recovery */
    {1874, ANY, ERROR_DB_READ_ONLY},
    {1881, MYSQLV, ERROR_DB_READ_ONLY},
    {3989, MYSQLV, ERROR_DB_READ_ONLY}, /* ALTER SCHEMA ... READ ONLY = 1, by whoever moves it elsewhere */
    {3100, MYSQLV, ERROR_DB_RESOURCE},
    /* The server is short of something. */
    {1021, ANY, ERROR_DB_RESOURCE},
    {1030, ANY, ERROR_DB_RESOURCE},
    {1037, ANY, ERROR_DB_RESOURCE},
    {1041, ANY, ERROR_DB_RESOURCE},
    {1026, ANY, ERROR_DB_RESOURCE},
    {1114, ANY, ERROR_DB_RESOURCE},
    {1038, ANY, ERROR_DB_RESOURCE},
    {1206, ANY, ERROR_DB_RESOURCE},
    {1598, ANY, ERROR_DB_RESOURCE}, /* the binary log cannot be written */
    {1637, ANY, ERROR_DB_RESOURCE},
    {1969, MARIADB, ERROR_DB_RESOURCE},
    {3024, MYSQLV, ERROR_DB_RESOURCE},
    /* This row. */
    {1062, ANY, ERROR_DB_DUPLICATE},
    {1022, ANY, ERROR_DB_DUPLICATE},
    {1586, ANY, ERROR_DB_DUPLICATE},
    {4025, MARIADB, ERROR_DB_CHECK},
    {3819, MYSQLV, ERROR_DB_CHECK},
    {1690, ANY, ERROR_DB_CHECK}, /* our guard statement, or an unsigned column under zero */
    {1048, ANY, ERROR_DB_DATA},
    {1153, ANY, ERROR_DB_DATA},
    {1264, ANY, ERROR_DB_DATA},
    {1265, ANY, ERROR_DB_DATA},
    {1292, ANY, ERROR_DB_DATA},
    {1300, ANY, ERROR_DB_DATA}, /* not in the column's character set */
    {1366, ANY, ERROR_DB_DATA},
    {1367, ANY, ERROR_DB_DATA},
    {1406, ANY, ERROR_DB_DATA},
    {1451, ANY, ERROR_DB_DATA},
    {1452, ANY, ERROR_DB_DATA},
    {1644, ANY, ERROR_DB_DATA},
    {3140, MYSQLV, ERROR_DB_DATA},
    {2020, ANY, ERROR_DB_DATA}, /* the client's side of 1153 */
    /* Schema, privileges, account, our own SQL. */
    {1044, ANY, ERROR_DB_SETUP},
    {1045, ANY, ERROR_DB_SETUP},
    {1046, ANY, ERROR_DB_SETUP},
    {1049, ANY, ERROR_DB_SETUP},
    {1054, ANY, ERROR_DB_SETUP},
    {1064, ANY, ERROR_DB_SETUP},
    {1016, ANY, ERROR_DB_SETUP}, /* this and the five below: the table's file is missing or damaged */
    {1033, ANY, ERROR_DB_SETUP},
    {1034, ANY, ERROR_DB_SETUP},
    {1194, ANY, ERROR_DB_SETUP},
    {1812, ANY, ERROR_DB_SETUP},
    {1932, MARIADB, ERROR_DB_SETUP},
    {1103, ANY, ERROR_DB_SETUP},
    {1109, ANY, ERROR_DB_SETUP},
    {1130, ANY, ERROR_DB_SETUP},
    {1136, ANY, ERROR_DB_SETUP},
    {1142, ANY, ERROR_DB_SETUP},
    {1143, ANY, ERROR_DB_SETUP},
    {1146, ANY, ERROR_DB_SETUP},
    {1193, ANY, ERROR_DB_SETUP},
    {1227, ANY, ERROR_DB_SETUP},
    {1231, ANY, ERROR_DB_SETUP},
    {1305, ANY, ERROR_DB_SETUP},
    {1364, ANY, ERROR_DB_SETUP}, /* a column that we do not know, without a default: every order would say so */
    {1370, ANY, ERROR_DB_SETUP},
    {1665, ANY, ERROR_DB_SETUP},
    {1698, ANY, ERROR_DB_SETUP},
    {1820, ANY, ERROR_DB_SETUP},
    {1862, MYSQLV, ERROR_DB_SETUP},
    {2054, ANY, ERROR_DB_SETUP},
    {2058, ANY, ERROR_DB_SETUP},
    {2059, ANY, ERROR_DB_SETUP},
    {2061, ANY, ERROR_DB_SETUP},
    {3118, MYSQLV, ERROR_DB_SETUP}, /* account locked */
    {3955, MYSQLV, ERROR_DB_SETUP}, /* for a while, after wrong passwords */
    {3159, ANY, ERROR_DB_SETUP},    /* require_secure_transport */
    {4151, MARIADB, ERROR_DB_SETUP},
};

enum error_code db_error_code(enum db_vendor vendor, unsigned number, const char *text)
{
    unsigned mine = vendor == DB_MARIADB ? MARIADB : MYSQLV;

    /* "running with the --X option": the same number for --read-only, --super-read-only and unrelated options. */
    if (number == 1290)
        return strstr(text, "read-only") || strstr(text, "read_only") ? ERROR_DB_READ_ONLY : ERROR_DB_SETUP;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].number == number && (numbers[i].vendors & mine))
            return numbers[i].code;
    }
    return ERROR_DB_UNKNOWN;
}

/* "Duplicate entry 'X' for key 'orders.uk_live'": MySQL names the table before the key, MariaDB does not. The entry may
 * hold any text, so the last "for key '" counts. */
static void note_duplicate_key(struct db *db, const char *text)
{
    static const char mark[] = "for key '";
    const char *at = NULL, *end, *dot;
    size_t len;

    for (const char *p = strstr(text, mark); p; p = strstr(p + 1, mark))
        at = p + sizeof mark - 1;
    db->duplicate_key[0] = '\0';
    if (!at || !(end = strchr(at, '\'')))
        return;
    dot = memrchr(at, '.', (size_t)(end - at));
    if (dot)
        at = dot + 1;
    len = (size_t)(end - at) < DB_KEY_NAME_MAX ? (size_t)(end - at) : DB_KEY_NAME_MAX;
    memcpy(db->duplicate_key, at, len);
    db->duplicate_key[len] = '\0';
}

bool db_fail_as(struct db *db, unsigned number, const char *text, const char *sqlstate, const char *what,
                struct error *err)
{
    enum error_code code = db_error_code(db->vendor, number, text);

    if (code == ERROR_DB_DUPLICATE)
        note_duplicate_key(db, text);
    /* 1153 and 2020 too (a proxy may have a lower limit than the server says): who got too large a packet hangs up, and
     * the next call would blame the next statement. */
    if (code == ERROR_DB_LOST || code == ERROR_DB_AWAY || code == ERROR_DB_READ_ONLY || number == 1153 ||
        number == 2020)
        db->dead = true;
    return error_set(err, code, "%s%s%s (error %u, SQLSTATE %s)", what, what[0] ? ": " : "", text, number, sqlstate);
}

bool db_fail(struct db *db, const char *what, struct error *err)
{
    return db_fail_as(db, mysql_errno(db->handle), mysql_error(db->handle), mysql_sqlstate(db->handle), what, err);
}
