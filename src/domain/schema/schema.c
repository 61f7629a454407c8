#include "orderd/schema.h"

#include <string.h>

#include "orderd/check.h"
#include "orderd/fault.h"
#include "orderd/strbuf.h"

/* Generated from sql/ by schema_embed.cmake. */
extern const struct schema_migration schema_embedded[];
extern const size_t schema_embedded_count;

#define APPLIED_MAX 1000

struct applied {
    unsigned version;
    char name[101], checksum[65];
};

struct history {
    struct applied *list;
    size_t count;
};

const struct schema_migration *schema_migrations(size_t *count)
{
    *count = schema_embedded_count;
    return schema_embedded;
}

static bool take_text(struct slice column, char *out, size_t size)
{
    if (!column.ptr || column.len >= size)
        return false;
    memcpy(out, column.ptr, column.len);
    out[column.len] = '\0';
    return true;
}

static bool take_applied(void *arg, const struct slice *c, unsigned count)
{
    struct history *history = arg;
    struct applied *a;
    int64_t version;

    if (count != 3 || history->count == APPLIED_MAX || !db_column_i64(c[0], &version))
        return false;
    a = &history->list[history->count];
    if (!take_text(c[1], a->name, sizeof a->name) || !take_text(c[2], a->checksum, sizeof a->checksum))
        return false;
    a->version = (unsigned)version;
    history->count++;
    return true;
}

/* What was applied so far; nothing where there is no schema_migration yet. Asked of the table itself: to an account
 * without a right to it, information_schema says that it is not there. Such an account is denied SELECT whether it is
 * there or not; "no such table" is said only to one that could read it. */
static bool read_history(struct db *db, struct history *history, struct error *err)
{
    history->count = 0;
    if (db_query(db, slice_of("SELECT version,name,checksum FROM schema_migration ORDER BY version"), take_applied,
                 history, err))
        return true;
    if (err->code != ERROR_DB_SETUP)
        return false;
    if (strstr(err->text, "(error 1146,")) {
        error_clear(err);
        return true;
    }
    return error_prefix(err, "which migrations are applied is not known to this account");
}

static const struct applied *find_applied(const struct history *history, unsigned version)
{
    for (size_t i = 0; i < history->count; i++) {
        if (history->list[i].version == version)
            return &history->list[i];
    }
    return NULL;
}

static enum schema_state state_of(const struct history *history, const struct schema_migration *m)
{
    const struct applied *a = find_applied(history, m->version);

    if (!a)
        return SCHEMA_PENDING;
    return strcmp(a->checksum, m->checksum) == 0 ? SCHEMA_APPLIED : SCHEMA_CHANGED;
}

static bool known(unsigned version)
{
    for (size_t i = 0; i < schema_embedded_count; i++) {
        if (schema_embedded[i].version == version)
            return true;
    }
    return false;
}

/* Both lists are sorted; those that are not known are put in between. */
static void report(const struct history *history, schema_fn on_migration, void *arg)
{
    size_t a = 0;

    for (size_t i = 0; i <= schema_embedded_count; i++) {
        const struct schema_migration *m = i < schema_embedded_count ? &schema_embedded[i] : NULL;

        for (; a < history->count && (!m || history->list[a].version <= m->version); a++) {
            if (!known(history->list[a].version))
                on_migration(arg, history->list[a].version, history->list[a].name, SCHEMA_FOREIGN);
        }
        if (m)
            on_migration(arg, m->version, m->name, state_of(history, m));
    }
}

bool schema_status(struct db *db, schema_fn on_migration, void *arg, struct error *err)
{
    struct history history = {check_calloc(APPLIED_MAX, sizeof *history.list), 0};
    bool ok = read_history(db, &history, err);

    if (ok)
        report(&history, on_migration, arg);
    free(history.list);
    return ok;
}

struct verdict {
    unsigned pending, changed, foreign;
    char first[101]; /* the name of the first that no migration can mend */
};

static void judge(void *arg, unsigned version, const char *name, enum schema_state state)
{
    struct verdict *v = arg;

    (void)version;
    v->pending += state == SCHEMA_PENDING;
    v->changed += state == SCHEMA_CHANGED;
    v->foreign += state == SCHEMA_FOREIGN;
    if ((state == SCHEMA_CHANGED || state == SCHEMA_FOREIGN) && v->first[0] == '\0')
        strncpy(v->first, name, sizeof v->first - 1);
}

/* What no migration can mend. */
static bool acceptable(const struct verdict *v, struct error *err)
{
    if (v->changed)
        return error_set(
            err, ERROR_REFUSED,
            "migration %s was applied from a file with other content: the database was made by another build; "
            "restore the file or ask who changed it",
            v->first);
    if (v->foreign)
        return error_set(err, ERROR_REFUSED,
                         "the database has migration %s, which this version does not know: install the newer orderd",
                         v->first);
    return true;
}

bool schema_check(struct db *db, struct error *err)
{
    struct verdict v = {0};

    if (!schema_status(db, judge, &v, err) || !acceptable(&v, err))
        return false;
    if (v.pending)
        return error_set(err, ERROR_REFUSED, "%u of %zu migrations are not applied: run `orderctl migrate up`",
                         v.pending, schema_embedded_count);
    return true;
}

static bool apply_one(struct db *db, const struct schema_migration *m, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    if (!db_run(db, slice_of(m->sql), err))
        return error_prefix(err, "migration %s", m->name);
    FAULT(MIGRATE_AFTER_STATEMENT);
    strbuf_addf(&sql, "INSERT INTO schema_migration(version,name,checksum) VALUES(%u,'%s','%s')", m->version, m->name,
                m->checksum);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    return ok || error_prefix(err, "recording migration %s", m->name);
}

static bool apply_pending(struct db *db, schema_fn on_migration, void *arg, struct error *err)
{
    struct history history = {check_calloc(APPLIED_MAX, sizeof *history.list), 0};
    struct verdict v = {0};
    bool ok = read_history(db, &history, err);

    if (ok) {
        report(&history, judge, &v);
        ok = acceptable(&v, err);
    }
    for (size_t i = 0; i < schema_embedded_count && ok; i++) {
        const struct schema_migration *m = &schema_embedded[i];

        if (state_of(&history, m) != SCHEMA_PENDING)
            continue;
        ok = apply_one(db, m, err);
        if (ok)
            on_migration(arg, m->version, m->name, SCHEMA_APPLIED);
    }
    free(history.list);
    return ok;
}

#define LOCK_NAME "CONCAT('orderd.migrate.',LEFT(DATABASE(),40))"

bool schema_apply(struct db *db, schema_fn on_migration, void *arg, struct error *err)
{
    struct error ignored;
    int64_t locked;
    bool ok;

    if (!db_query_i64(db, slice_of("SELECT GET_LOCK(" LOCK_NAME ",5)"), 0, &locked, err))
        return false;
    if (locked != 1)
        return error_set(err, ERROR_DB_CONFLICT, "another migration is running; wait for it and run this again");
    ok = apply_pending(db, on_migration, arg, err);
    if (db_usable(db))
        (void)!db_query_i64(db, slice_of("SELECT RELEASE_LOCK(" LOCK_NAME ")"), 0, &locked, &ignored);
    return ok;
}
