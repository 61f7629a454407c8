/* Configuration and connections, with what to do where they cannot be had. */
#include "ctl.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/schema.h"
#include "orderd/thread.h"

void ctl_advise(struct ctl *ctl, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(ctl->advice, sizeof ctl->advice, fmt, ap);
    va_end(ap);
}

bool ctl_load_conf(struct ctl *ctl, struct error *err)
{
    if (ctl->conf)
        return true;
    ctl->conf = conf_load(ctl->conf_path, err);
    if (!ctl->conf)
        ctl_advise(ctl, "mend it, or name another file with --config");
    return ctl->conf != NULL;
}

/* A server that does not answer, or not to this account. */
static void advise_group(struct ctl *ctl, const char *server, const char *group, const struct error *err)
{
    if (error_class_of(err) == ERROR_CLASS_OUTAGE)
        ctl_advise(ctl, "see that %s is up and that the group %s of %s is right", server, group, ctl->conf_path);
    else
        ctl_advise(ctl, "the group %s of %s says which server and account", group, ctl->conf_path);
}

struct db *ctl_open_db(struct ctl *ctl, struct error *err)
{
    struct db *db = ctl_load_conf(ctl, err) ? db_open(ctl->conf, err) : NULL;

    if (!db && ctl->conf)
        advise_group(ctl, "MySQL", "mysql", err);
    return db;
}

bool ctl_schema_refused(struct error *err)
{
    if (err->code == ERROR_REFUSED)
        err->code = ERROR_DB_SETUP;
    return false;
}

struct db *ctl_open_schema(struct ctl *ctl, struct error *err)
{
    struct db *db = ctl_open_db(ctl, err);

    if (db && !schema_check(db, err)) {
        ctl_schema_refused(err);
        db_close(&db);
    }
    return db;
}

struct kv *ctl_open_kv(struct ctl *ctl, struct error *err)
{
    struct kv *kv = ctl_load_conf(ctl, err) ? kv_open(ctl->conf, "orderctl", err) : NULL;

    if (!kv && ctl->conf)
        advise_group(ctl, "Redis", "redis", err);
    return kv;
}

/* ---- the broker, whose library has calls that only a watchdog ends ---- */

static atomic_bool watching;
static struct thread watchdog;

static void watch(void *data)
{
    (void)data;
    while (atomic_load(&watching)) {
        (void)broker_guard_check();
        clock_sleep_ms(50);
    }
}

struct broker *ctl_open_broker(struct ctl *ctl, struct error *err)
{
    return ctl_load_conf(ctl, err) ? ctl_open_broker_at(ctl, NULL, err) : NULL;
}

struct broker *ctl_open_broker_at(struct ctl *ctl, const struct conf_node *host, struct error *err)
{
    struct broker *broker;

    CHECK(!atomic_exchange(&watching, true));
    watchdog = (struct thread){.name = "watchdog", .run = watch};
    thread_start(&watchdog);
    broker = host ? broker_open_at(ctl->conf, host, "orderctl", err) : broker_open(ctl->conf, "orderctl", err);
    if (!broker) {
        advise_group(ctl, "RabbitMQ", "broker", err);
        ctl_close_broker(&broker);
    }
    return broker;
}

void ctl_close_broker(struct broker **broker)
{
    if (*broker)
        broker_close(broker, true);
    if (atomic_exchange(&watching, false))
        thread_join(&watchdog);
}
