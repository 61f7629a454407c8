/* Before any delivery is taken: is the schema ours, is the topology safe? */
#include "daemon.h"

#include <signal.h>
#include <stdlib.h>

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
    unsigned forbidden; /* an account that may not look at one is likely to look at none: told once */
    struct error *err;
};

static void judge(void *arg, const struct topology_finding *f)
{
    struct findings *findings = arg;

    if (f->presence == BROKER_FORBIDDEN) {
        findings->forbidden++;
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
    (void)arg;
    log_event(certain ? LOG_EVENT_BROKER_WARNING : LOG_EVENT_BROKER_NOTE, LOG_STR("finding", sentence));
}

static void warn_forbidden(unsigned count)
{
    if (count)
        log_event(LOG_EVENT_BROKER_WARNING,
                  LOG_STR("finding", "this account may not look at the topology; where another account makes it, set "
                                     "broker.topology = \"trust\""),
                  LOG_INT("items", count));
}

/* A delay queue that is missing delays the time-outs of its activities until the sweep finds them: an alarm, and no
 * reason to take no orders. `orderctl activity approve` and `topology apply` make them. */
static void judge_unpaid(void *arg, const struct topology_finding *f)
{
    struct findings *findings = arg;

    if (f->presence == BROKER_FORBIDDEN)
        findings->forbidden++;
    else if (f->presence != BROKER_PRESENT)
        log_event(LOG_EVENT_DELAY_QUEUE, LOG_STR(f->kind, f->name),
                  LOG_STR("state", f->presence == BROKER_MISSING ? "missing" : "different"),
                  LOG_STR("detail", f->detail));
}

static bool check_unpaid(struct broker *broker, const struct conf *conf, struct findings *findings)
{
    struct error *err = findings->err;
    struct db *db = db_open(conf, err);
    int64_t *timeouts = NULL;
    size_t count = 0;
    bool ok = db && activity_store_timeouts(db, &timeouts, &count, err) &&
              topology_walk_unpaid(broker, conf, timeouts, count, findings->declare, judge_unpaid, findings, err);

    free(timeouts);
    db_close(&db);
    return ok;
}

/* Queues that create.queues does not count any more are emptied all the same. told: that this account may not look. */
static bool count_create_queues(struct daemon *d, struct broker *broker, const struct conf *conf, bool told,
                                struct error *err)
{
    unsigned count;
    bool seen;

    if (!create_queue_count(broker, conf, &count, &seen, err))
        return false;
    atomic_store(&d->shared.create_queues, count);
    if (!seen && !told && conf->broker_topology != CONF_TOPOLOGY_TRUST)
        warn_broker(NULL,
                    "this account may not see whether there are more create queues than create.queues, of before it "
                    "was lowered; `orderctl doctor` looks",
                    true);
    return true;
}

static bool check_topology(struct broker *broker, const struct conf *conf, bool *forbidden, struct error *err)
{
    struct findings findings = {conf->broker_topology == CONF_TOPOLOGY_DECLARE, true, 0, err};

    *forbidden = false;
    if (conf->broker_topology == CONF_TOPOLOGY_TRUST)
        return true;
    if (!topology_walk(broker, conf, findings.declare, judge, &findings, err) || !findings.good ||
        !check_unpaid(broker, conf, &findings))
        return false;
    warn_forbidden(findings.forbidden);
    *forbidden = findings.forbidden > 0;
    topology_warn(broker_version(broker), conf, warn_broker, NULL);
    return true;
}

static bool check_broker(struct daemon *d, const struct conf *conf, struct error *err)
{
    struct broker *broker = broker_open(conf, "orderd preflight", err);
    bool forbidden, ok;

    if (!broker)
        return false;
    ok = check_topology(broker, conf, &forbidden, err) && count_create_queues(d, broker, conf, forbidden, err);
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

static void warn_open(void *arg, const char *path, const struct conf_setting *secret)
{
    (void)arg;
    if (secret)
        log_event(LOG_EVENT_SECRET_OPEN, LOG_STR("file", path), LOG_STR("section", secret->section),
                  LOG_STR("key", secret->name));
    else
        log_event(LOG_EVENT_CONFIG_OPEN, LOG_STR("file", path));
}

enum exitcode preflight(struct daemon *d, const struct conf *conf)
{
    enum exitcode code = EXIT_TEMPORARY;

    conf_each_open(conf, warn_open, NULL);
    if (!until_good(d, conf, check_db, &code) || !until_good(d, conf, check_broker, &code))
        return code;
    d->preflight_passed = true;
    return EXIT_OK;
}
