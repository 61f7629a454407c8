/* orderctl migrate: the schema. */
#include <stdio.h>

#include "orderd/schema.h"
#include "print.h"
#include "record.h"

/* A day: for as long as a statement of a migration is waited for. */
#define PATIENCE_MS (24 * INT64_C(3600000))

static const struct {
    const char *name;
    enum tint tint;
} states[] = {
    [SCHEMA_APPLIED] = {"applied", TINT_GOOD},
    [SCHEMA_PENDING] = {"pending", TINT_CHANGED},
    [SCHEMA_CHANGED] = {"changed", TINT_BAD},
    [SCHEMA_FOREIGN] = {"foreign", TINT_BAD},
};

struct listing {
    const struct ctl *ctl;
    bool only_pending;
    unsigned by_state[4], all;
};

static void print_migration(const struct ctl *ctl, unsigned version, const char *name, enum schema_state state)
{
    if (ctl->json) {
        struct strbuf line = STRBUF_INIT;

        record_open(&line, NULL, '{');
        record_number(&line, "version", version);
        record_text(&line, "name", name);
        record_text(&line, "state", states[state].name);
        record_close(&line, '}');
        record_print(&line);
        strbuf_release(&line);
        return;
    }
    print_word(ctl, name, 30, TINT_NONE);
    print_word(ctl, states[state].name, 0, states[state].tint);
    putchar('\n');
}

static void list(void *arg, unsigned version, const char *name, enum schema_state state)
{
    struct listing *l = arg;

    l->by_state[state]++;
    l->all++;
    if (!l->only_pending || state == SCHEMA_PENDING)
        print_migration(l->ctl, version, name, state);
}

static bool mendable(const struct listing *l)
{
    return l->by_state[SCHEMA_CHANGED] == 0 && l->by_state[SCHEMA_FOREIGN] == 0;
}

static bool show(struct ctl *ctl, struct db *db, struct listing *l, struct error *err)
{
    if (!schema_status(db, list, l, err))
        return false;
    /* The check finds the words for what is wrong. */
    if (!mendable(l) && !schema_check(db, err))
        return ctl_schema_refused(err);
    if (l->by_state[SCHEMA_PENDING] == 0)
        print_note(ctl, "the schema is up to date: %u migrations are applied", l->all);
    return true;
}

bool ctl_migrate_status(struct ctl *ctl, struct error *err)
{
    struct listing l = {.ctl = ctl};
    struct db *db = ctl_open_db(ctl, err);
    bool ok = db && show(ctl, db, &l, err);

    db_close(&db);
    if (ok && l.by_state[SCHEMA_PENDING] > 0) {
        print_note(ctl, "%u of %u migrations are not applied; run `orderctl migrate up`", l.by_state[SCHEMA_PENDING],
                   l.all);
        ctl->code = EXIT_FAILED;
    }
    return ok;
}

static bool apply(struct ctl *ctl, struct db *db, struct error *err)
{
    struct listing l = {.ctl = ctl};

    if (!schema_apply(db, list, &l, err)) {
        if (error_class_of(err) == ERROR_CLASS_OUTAGE)
            ctl_advise(ctl, "run the same command again: it goes on where it stopped");
        return ctl_schema_refused(err);
    }
    if (l.all == 0)
        print_note(ctl, "the schema is up to date, nothing was to be done");
    return true;
}

/* An index of a large table takes as long as it takes. To lose the connection meanwhile would end nothing but our
 * waiting: the server goes on, and the same again would begin anew. */
static struct db *open_patient(struct ctl *ctl, struct error *err)
{
    if (ctl_load_conf(ctl, err))
        ctl->conf->mysql_read_timeout = PATIENCE_MS;
    return ctl->conf ? ctl_open_db(ctl, err) : NULL;
}

bool ctl_migrate_up(struct ctl *ctl, struct error *err)
{
    struct listing l = {.ctl = ctl, .only_pending = true};
    struct db *db = open_patient(ctl, err);
    bool ok;

    if (!db)
        return false;
    ok = ctl->values[CTL_OPTION_migrate_up_dry_run].set ? show(ctl, db, &l, err) : apply(ctl, db, err);
    db_close(&db);
    return ok;
}
