/* orderctl doctor: a primary of MySQL and its replicas. Each server is asked alone, whether it takes writes or not.
 * What SHOW REPLICA STATUS tells needs a privilege that orderd has no use for. MariaDB tells in its global status,
 * which needs none, whether it replicates; MySQL does so in two tables, which an account may be given to read or not.
 */
#include "doctor.h"

#include <stdio.h>

/* Of a status variable, or of several: whether there is one, and whether one is ON. */
struct status {
    bool known, on;
};

static bool take_status(void *arg, const struct slice *columns, unsigned count)
{
    struct status *s = arg;

    if (count != 2 || !columns[1].ptr)
        return false;
    s->known = true;
    s->on |= slice_is(columns[1], "ON");
    return true;
}

static bool read_status(struct db *db, const char *sql, struct status *s, struct error *err)
{
    *s = (struct status){false, false};
    return db_query(db, slice_of(sql), take_status, s, err);
}

struct found {
    struct doctor *d;
    const char *subject;
};

static void tell_durability(void *arg, const char *sentence)
{
    struct found *f = arg;

    doctor_tell(f->d, DOCTOR_PROBLEM, DOCTOR_MYSQL_HOSTS, f->subject, "%s", sentence);
}

/* Without it, what a commit has told us to be durable is lost together with the machine. */
static bool semi_sync(struct found *f, struct db *db, struct error *err)
{
    struct status s;

    if (!read_status(db,
                     "SHOW GLOBAL STATUS WHERE Variable_name IN "
                     "('Rpl_semi_sync_master_status','Rpl_semi_sync_source_status')",
                     &s, err))
        return false;
    if (s.on)
        doctor_tell(f->d, DOCTOR_OK, DOCTOR_MYSQL_SEMI_SYNC, f->subject, "a commit waits until a replica has it");
    else
        doctor_tell(f->d, DOCTOR_WARNING, DOCTOR_MYSQL_SEMI_SYNC, f->subject,
                    "a commit does not wait for a replica: what none has yet is lost with this server");
    return true;
}

/* One row, also where no source was ever named. */
#define REPLICATES_SQL                                                                                                 \
    "SELECT 'replicates',IF(COUNT(*)>0,'ON','OFF') FROM performance_schema.replication_connection_status c "           \
    "JOIN performance_schema.replication_applier_status a USING(channel_name) "                                        \
    "WHERE c.service_state='ON' AND a.service_state='ON'"

static bool read_replication(struct db *db, struct status *s, struct error *err)
{
    if (db_vendor(db) == DB_MARIADB)
        return read_status(db, "SHOW GLOBAL STATUS LIKE 'Slave_running'", s, err);
    if (read_status(db, REPLICATES_SQL, s, err))
        return true;
    if (err->code != ERROR_DB_SETUP)
        return false;
    error_clear(err); /* it may not read them, and need not */
    return true;
}

static bool replica(struct found *f, struct db *db, struct error *err)
{
    struct status s;

    if (!read_replication(db, &s, err))
        return false;
    if (s.known && !s.on)
        doctor_tell(f->d, DOCTOR_WARNING, DOCTOR_MYSQL_HOSTS, f->subject,
                    "it takes no writes, and does not replicate: it lacks what the primary has committed since");
    else
        doctor_tell(f->d, DOCTOR_OK, DOCTOR_MYSQL_HOSTS, f->subject,
                    s.known ? "it takes no writes, and replicates"
                            : "it takes no writes; whether it replicates this account may not see");
    return true;
}

static bool primary(struct found *f, struct db *db, struct error *err)
{
    doctor_tell(f->d, DOCTOR_OK, DOCTOR_MYSQL_HOSTS, f->subject, "it takes writes");
    return semi_sync(f, db, err);
}

static void look(struct found *f, const struct conf_node *node)
{
    struct error err = {0};
    bool writable = false;
    struct db *db = db_open_host(f->d->ctl->conf, node, &writable, &err);

    if (!db || !(writable ? primary(f, db, &err) : replica(f, db, &err)) ||
        !db_check_durability(db, tell_durability, f, &err))
        doctor_tell_advice(f->d, DOCTOR_WARNING, DOCTOR_MYSQL_HOSTS, doctor_advice(DOCTOR_MYSQL_SERVER, &err),
                           f->subject, "%s", err.text);
    db_close(&db);
}

void doctor_hosts(struct doctor *d)
{
    const char *list = d->ctl->conf->mysql_hosts;
    struct conf_node node;

    while (conf_node_next(&list, &node)) {
        char subject[300];
        struct found f = {.d = d, .subject = subject};

        snprintf(subject, sizeof subject, "%s:%d", node.host, node.port);
        look(&f, &node);
    }
}
