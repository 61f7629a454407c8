/* The database schema: numbered files of sql/, embedded at build with their SHA-256. The daemon only checks; `orderctl
 * migrate up` applies. A file is one idempotent statement and its row in schema_migration is written last, so a
 * migration that was cut short is simply run again (DDL commits by itself and cannot be rolled back). */
#ifndef ORDERD_SCHEMA_H
#define ORDERD_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include "orderd/db.h"
#include "orderd/error.h"

struct schema_migration {
    unsigned version;
    const char *name;     /* "0004_orders" */
    const char *checksum; /* SHA-256 of the file, 64 hex digits */
    const char *sql;
};

enum schema_state {
    SCHEMA_APPLIED,
    SCHEMA_PENDING,
    SCHEMA_CHANGED, /* applied, but from a file with other content */
    SCHEMA_FOREIGN, /* applied, but this program does not know it: the database is newer */
};

/* All migrations this program knows, by ascending version. */
const struct schema_migration *schema_migrations(size_t *count);

/* Reports every migration that is known or applied, by ascending version. */
typedef void (*schema_fn)(void *arg, unsigned version, const char *name, enum schema_state state);
ORDERD_MUST_CHECK bool schema_status(struct db *db, schema_fn on_migration, void *arg, struct error *err);

/* Applies what is pending, under a named lock so that two runs do not meet (waits up to 5 s for it, then DB_CONFLICT).
 * REFUSED where a file was changed or the database is newer. on_migration is called for each one that was applied. */
ORDERD_MUST_CHECK bool schema_apply(struct db *db, schema_fn on_migration, void *arg, struct error *err);

/* Whether the database has exactly the schema this program needs; else REFUSED with the command to run. */
ORDERD_MUST_CHECK bool schema_check(struct db *db, struct error *err);

#endif
