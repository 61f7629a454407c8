/* Before any delivery is taken: is the schema ours, is the topology safe? */
#include "daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "orderd/activity_store.h"
#include "orderd/backoff.h"
#include "orderd/broker.h"
#include "orderd/create_queue.h"
#include "orderd/db.h"
#include "orderd/log.h"
#include "orderd/schema.h"
#include "orderd/topology.h"

static void warn_db(void *arg, const char *sentence)
{
    (void)arg;
    log_event(LOG_EVENT_DB_WARNING, LOG_STR("finding", sentence));
}

static bool check_db(struct daemon *d, const struct conf *conf, struct error *err)
{
    struct db *db = db_open(conf, err);
    bool ok = db && schema_check(db, err) && db_check_durability(db, warn_db, NULL, err);

    (void)d;
    db_close(&db);
    return ok;
}

struct findings {
    bool declare, good;
    struct error *err;
};

static void judge(void *arg, const struct topology_finding *f)
{
    struct findings *findings = arg;

    if (f->presence == BROKER_FORBIDDEN) {
        log_event(LOG_EVENT_BROKER_WARNING,
                  LOG_STR("finding", "this account may not look at the topology; set broker.topology = \"trust\""),
                  LOG_STR(f->kind, f->name), LOG_STR("detail", f->detail));
        return;
    }
    if (f->presence == BROKER_PRESENT || !findings->good)
        return;
    findings->good = false;
    if (f->presence == BROKER_MISSING)
        error_set(findings->err, ERROR_BROKER_SETUP, "%s %s is missing: run `orderctl topology apply`", f->kind,
                  f->name);
    else
        error_set(
            findings->err, ERROR_BROKER_SETUP,
            "%s %s is declared otherwise (%s): make it anew, or change broker.queue_type and broker.delivery_limit",
            f->kind, f->name, f->detail);
}

static void warn_broker(void *arg, const char *sentence, bool certain)
{
    (void)arg, (void)certain;
    log_event(LOG_EVENT_BROKER_WARNING, LOG_STR("finding", sentence));
}

/* A delay queue that is missing delays the time-outs of its activities until the sweep finds them: an alarm, and no
 * reason to take no orders. `orderctl activity approve` and `topology apply` make them. */
static void judge_unpaid(void *arg, const struct topology_finding *f)
{
    (void)arg;
    if (f->presence == BROKER_PRESENT)
        return;
    log_event(LOG_EVENT_DELAY_QUEUE, LOG_STR(f->kind, f->name),
              LOG_STR("state", f->presence == BROKER_MISSING     ? "missing"
                               : f->presence == BROKER_DIFFERENT ? "different"
                                                                 : "forbidden"),
              LOG_STR("detail", f->detail));
}

static bool check_unpaid(struct broker *broker, const struct conf *conf, bool declare, struct error *err)
{
    struct db *db = db_open(conf, err);
    int64_t *timeouts = NULL;
    size_t count = 0;
    bool ok = db && activity_store_timeouts(db, &timeouts, &count, err) &&
              topology_walk_unpaid(broker, conf, timeouts, count, declare, judge_unpaid, NULL, err);

    free(timeouts);
    db_close(&db);
    return ok;
}

/* Queues that create.queues does not count any more are emptied all the same. */
static bool count_create_queues(struct daemon *d, struct broker *broker, const struct conf *conf, struct error *err)
{
    unsigned count;
    bool seen;

    if (!create_queue_count(broker, conf, &count, &seen, err))
        return false;
    atomic_store(&d->shared.create_queues, count);
    if (!seen && conf->broker_topology != CONF_TOPOLOGY_TRUST)
        warn_broker(NULL,
                    "this account may not see whether there are more create queues than create.queues, of before it "
                    "was lowered; `orderctl doctor` looks",
                    true);
    return true;
}

static bool check_topology(struct broker *broker, const struct conf *conf, struct error *err)
{
    struct findings findings = {conf->broker_topology == CONF_TOPOLOGY_DECLARE, true, err};

    if (conf->broker_topology == CONF_TOPOLOGY_TRUST)
        return true;
    if (!topology_walk(broker, conf, findings.declare, judge, &findings, err) || !findings.good ||
        !check_unpaid(broker, conf, findings.declare, err))
        return false;
    topology_warn(broker_version(broker), conf, warn_broker, NULL);
    return true;
}

static bool check_broker(struct daemon *d, const struct conf *conf, struct error *err)
{
    struct broker *broker = broker_open(conf, "orderd preflight", err);
    bool ok;

    if (!broker)
        return false;
    ok = check_topology(broker, conf, err) && count_create_queues(d, broker, conf, err);
    broker_close(&broker, true);
    return ok;
}

/* Waits out an outage of the server that `check` asks; false and a code where it is not an outage. */
static bool until_good(struct daemon *d, const struct conf *conf,
                       bool (*check)(struct daemon *, const struct conf *, struct error *), enum exitcode *code)
{
    struct backoff backoff;

    backoff_init(&backoff, conf->mysql_reconnect_min, conf->mysql_reconnect_max, backoff_seed());
    for (;;) {
        struct error err = {0};
        int signal_;

        view_beat(d);
        if (check(d, conf, &err))
            return true;
        log_event(error_class_of(&err) == ERROR_CLASS_OUTAGE ? LOG_EVENT_WAITING : LOG_EVENT_SETUP_REFUSED,
                  LOG_ERR(&err));
        view_set_phase(d, ADMIN_STARTING, err.text);
        report_status(d);
        if (error_class_of(&err) != ERROR_CLASS_OUTAGE && error_class_of(&err) != ERROR_CLASS_TRANSIENT) {
            *code = EXIT_CONFIG;
            return false;
        }
        signal_ = signals_wait(backoff_next(&backoff));
        if (signal_ == SIGTERM || signal_ == SIGINT) {
            *code = EXIT_OK;
            return false;
        }
        control_signal(d, signal_);
    }
}

static void warn_secret(void *arg, const struct conf_setting *s)
{
    struct stat st;

    (void)arg;
    if (s->secret_path && stat(s->secret_path, &st) == 0 && st.st_mode & S_IROTH)
        log_event(LOG_EVENT_SECRET_OPEN, LOG_STR("file", s->secret_path), LOG_STR("section", s->section),
                  LOG_STR("key", s->name));
}

static void warn_config(void *arg, const char *path)
{
    struct stat st;

    (void)arg;
    if (stat(path, &st) == 0 && st.st_mode & S_IWOTH)
        log_event(LOG_EVENT_CONFIG_OPEN, LOG_STR("file", path));
}

enum exitcode preflight(struct daemon *d, const struct conf *conf)
{
    enum exitcode code = EXIT_TEMPORARY;

    conf_each_file(conf, warn_config, NULL);
    conf_each(conf, warn_secret, NULL);
    if (!until_good(d, conf, check_db, &code) || !until_good(d, conf, check_broker, &code))
        return code;
    d->preflight_passed = true;
    return EXIT_OK;
}
