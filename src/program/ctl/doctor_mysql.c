/* orderctl doctor: MySQL or MariaDB. What a session needs (isolation, strict mode, UTC, utf8mb4) is set and read back
 * by every connection that is opened, so one that is open has it. */
#include "doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "orderd/clock.h"
#include "orderd/schema.h"

struct durability {
    struct doctor *d;
    unsigned found;
};

static void tell_durability(void *arg, const char *sentence)
{
    struct durability *durability = arg;

    durability->found++;
    doctor_tell(durability->d, DOCTOR_PROBLEM, DOCTOR_MYSQL_DURABILITY, NULL, "%s", sentence);
}

static bool durability(struct doctor *d, struct db *db, struct error *err)
{
    struct durability seen = {d, 0};

    if (!db_check_durability(db, tell_durability, &seen, err))
        return false;
    if (!seen.found)
        doctor_tell(d, DOCTOR_OK, DOCTOR_MYSQL_DURABILITY, NULL, "every commit reaches the disk and the binary log");
    return true;
}

/* A yes or no of the server, told in one of two sentences. */
static bool ask(struct doctor *d, struct db *db, const char *sql, enum doctor_check check,
                enum doctor_verdict otherwise, const char *yes, const char *no, struct error *err)
{
    int64_t good;

    if (!db_query_i64(db, slice_of(sql), 0, &good, err))
        return false;
    doctor_tell(d, good ? DOCTOR_OK : otherwise, check, NULL, "%s", good ? yes : no);
    return true;
}

static bool settings(struct doctor *d, struct db *db, struct error *err)
{
    return ask(
        d, db, "SELECT @@global.sql_mode LIKE '%STRICT_ALL_TABLES%' OR @@global.sql_mode LIKE '%STRICT_TRANS_TABLES%'",
        DOCTOR_MYSQL_SQL_MODE, DOCTOR_WARNING, "strict for everybody",
        "sessions other than orderd's are not strict: what another producer writes can be cut short unnoticed", err);
}

/* *good: the tables are those that the privileges are about, or may well be: the account may not look. */
static bool schema(struct doctor *d, struct db *db, bool *good, struct error *err)
{
    *good = schema_check(db, err);
    if (!*good && err->code != ERROR_REFUSED && err->code != ERROR_DB_SETUP)
        return false;
    if (*good)
        doctor_tell(d, DOCTOR_OK, DOCTOR_MYSQL_SCHEMA, NULL, "all migrations are applied");
    else
        doctor_tell_advice(d, DOCTOR_PROBLEM, DOCTOR_MYSQL_SCHEMA,
                           err->code == ERROR_REFUSED ? NULL : doctor_advice(DOCTOR_MYSQL_SERVER, err), NULL, "%s",
                           err->text);
    *good = *good || err->code == ERROR_DB_SETUP;
    return true;
}

/* ---- privileges ---- */

static const struct privilege {
    const char *table;
    bool insert, update, delete;
} privileges[] = {
#define X(table, insert, update, delete) {#table, insert, update, delete},
#include "orderd/tbl/doctor_privilege.h"
#undef X
};

static bool one_text(void *arg, const struct slice *columns, unsigned count)
{
    char *text = arg;

    return count == 1 && columns[0].ptr && snprintf(text, 65, "%.*s", (int)columns[0].len, columns[0].ptr) > 0;
}

/* Preparing a statement checks the privileges for it, whatever they were granted by (also a role, or a pattern of
 * names), and runs nothing. *missing grows by ", INSERT" where it is refused. */
static bool try(struct db *db, bool needed, const char *statement, const char *name, struct strbuf *missing,
                struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    if (!needed)
        return true;
    strbuf_addf(&sql, "PREPARE doctor FROM \"%s\"", statement);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err) && db_run(db, slice_of("DEALLOCATE PREPARE doctor"), err);
    strbuf_release(&sql);
    if (!ok && err->code == ERROR_DB_SETUP) {
        strbuf_addf(missing, "%s%s", missing->len ? ", " : "", name);
        return true;
    }
    return ok;
}

static bool try_table(struct db *db, const struct privilege *p, struct strbuf *missing, struct error *err)
{
    char select[128], insert[128], update[256], delete[128], sql[256], column[65] = "";

    snprintf(sql, sizeof sql,
             "SELECT column_name FROM information_schema.columns WHERE table_schema=DATABASE() AND table_name='%s' "
             "ORDER BY ordinal_position LIMIT 1",
             p->table);
    if (!db_query(db, slice_of(sql), one_text, column, err))
        return false;
    if (!column[0]) { /* a table that one may do nothing with is not even listed */
        strbuf_add_str(missing, "SELECT");
        return true;
    }
    snprintf(select, sizeof select, "SELECT * FROM %s", p->table);
    snprintf(insert, sizeof insert, "INSERT INTO %s() VALUES()", p->table);
    snprintf(update, sizeof update, "UPDATE %s SET %s=%s", p->table, column, column);
    snprintf(delete, sizeof delete, "DELETE FROM %s", p->table);
    return try(db, true, select, "SELECT", missing, err) && try(db, p->insert, insert, "INSERT", missing, err) &&
           try(db, p->update, update, "UPDATE", missing, err) && try(db, p->delete, delete, "DELETE", missing, err);
}

static bool all_privileges(struct doctor *d, struct db *db, struct error *err)
{
    unsigned without = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < sizeof privileges / sizeof *privileges; i++) {
        struct strbuf missing = STRBUF_INIT;

        ok = try_table(db, &privileges[i], &missing, err);
        if (ok && missing.len) {
            doctor_tell(d, DOCTOR_PROBLEM, DOCTOR_MYSQL_PRIVILEGE, privileges[i].table, "the account lacks %s",
                        missing.data);
            without++;
        }
        strbuf_release(&missing);
    }
    if (ok && !without)
        doctor_tell(d, DOCTOR_OK, DOCTOR_MYSQL_PRIVILEGE, NULL, "the account may do what orderd does with its tables");
    return ok;
}

/* ---- all of it ---- */

static bool read_clock(struct doctor *d, struct db *db, struct error *err)
{
    int64_t asked = clock_wall_ms(), its;

    if (!db_query_i64(db, slice_of("SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000"), 0, &its,
                      err))
        return false;
    d->mysql = doctor_clock(asked, clock_wall_ms(), its);
    doctor_tell_clock(d, DOCTOR_MYSQL_CLOCK, NULL, &d->mysql);
    return true;
}

/* "Nov 27 04:12:52 2036 GMT" */
static bool take_end(void *arg, const struct slice *columns, unsigned count)
{
    int64_t *until_s = arg;
    struct tm tm = {0};
    char text[64];

    if (count == 2 && columns[1].ptr) {
        snprintf(text, sizeof text, "%.*s", (int)columns[1].len, columns[1].ptr);
        if (strptime(text, "%b %d %H:%M:%S %Y", &tm))
            *until_s = (int64_t)timegm(&tm);
    }
    return true;
}

static bool encryption(struct doctor *d, struct db *db, struct error *err)
{
    const struct conf *conf = d->ctl->conf;
    const char *list = db_peer(db);
    struct conf_node node;
    const char *host = conf_node_next(&list, &node) ? node.host : "";
    struct doctor_tls tls = {.by = db_encrypted_by(db),
                             .verified = conf->mysql_tls == CONF_MYSQL_TLS_VERIFY,
                             .here = db_peer(db)[0] == '/' || doctor_is_here(host)};

    if (tls.by &&
        !db_query(db, slice_of("SHOW SESSION STATUS LIKE 'Ssl_server_not_after'"), take_end, &tls.until_s, err))
        return false;
    doctor_tell_tls(d, DOCTOR_MYSQL_TLS, &tls);
    return true;
}

static bool look(struct doctor *d, struct db *db, struct error *err)
{
    int version = db_version(db);
    bool good = false;

    doctor_tell(d, DOCTOR_OK, DOCTOR_MYSQL_SERVER, NULL,
                "%s %d.%d.%d; sessions are READ COMMITTED, strict, UTC and utf8mb4, as read back",
                db_vendor(db) == DB_MARIADB ? "MariaDB" : "MySQL", version / 10000, version / 100 % 100, version % 100);
    doctor_tell(d, DOCTOR_OK, DOCTOR_MYSQL_WRITABLE, NULL, "%s takes writes", db_peer(db)); /* else it were not open */
    if (!encryption(d, db, err) || !read_clock(d, db, err) || !settings(d, db, err) || !durability(d, db, err) ||
        !schema(d, db, &good, err))
        return false;
    if (!good)
        return true;
    if (!all_privileges(d, db, err))
        return false;
    d->timeouts_known = activity_store_timeouts(db, &d->timeouts, &d->timeout_count, err);
    return d->timeouts_known || error_class_of(err) != ERROR_CLASS_OUTAGE; /* else said with the privileges */
}

void doctor_mysql(struct doctor *d)
{
    struct error err = {0};
    struct db *db = ctl_open_db(d->ctl, &err);

    if (!db && err.code == ERROR_DB_READ_ONLY)
        doctor_tell(d, DOCTOR_PROBLEM, DOCTOR_MYSQL_WRITABLE, NULL, "%s", err.text);
    else if (!db || !look(d, db, &err))
        doctor_failed(d, DOCTOR_MYSQL_SERVER, NULL, &err);
    db_close(&db);
    doctor_hosts(d);
}
