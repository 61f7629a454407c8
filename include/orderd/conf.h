/* The configuration: one immutable snapshot, filled from a libconfig file by the rows of tbl/conf.h.
 *
 * Every problem is one sentence "file:line: section.key: problem (expected ...)". Loading never touches the network.
 * A snapshot is read-only after conf_load and may be read by any thread until conf_destroy. */
#ifndef ORDERD_CONF_H
#define ORDERD_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "orderd/error.h"
#include "orderd/strbuf.h"

#define CONF_DELAYS_MAX 16

struct conf_delays {
    size_t count;
    int64_t ms[CONF_DELAYS_MAX];
};

/* The fields behind each TYPE of the table. */
#define CONF_FIELD_INT      int64_t
#define CONF_FIELD_DURATION int64_t
#define CONF_FIELD_SECONDS  int64_t
#define CONF_FIELD_SIZE     int64_t
#define CONF_FIELD_BOOL     bool
#define CONF_FIELD_STRING   const char *
#define CONF_FIELD_SECRET   const char *
#define CONF_FIELD_FILE     const char *
#define CONF_FIELD_KEY_FILE const char *
#define CONF_FIELD_CHOICE   int
#define CONF_FIELD_NODES    const char *
#define CONF_FIELD_DELAYS   struct conf_delays

struct conf_origins; /* where each value came from */

struct conf {
#define X(section, name, type, def, min, max, flags, prose) CONF_FIELD_##type section##_##name;
#include "orderd/tbl/conf.h"
#undef X
    const char *path; /* the file, or NULL when all values are defaults */
    struct conf_origins *origins;
};

/* Words of the CHOICE rows, in the order of their prose. */
enum { CONF_QUEUE_TYPE_QUORUM, CONF_QUEUE_TYPE_CLASSIC };
enum { CONF_TOPOLOGY_DECLARE, CONF_TOPOLOGY_VERIFY, CONF_TOPOLOGY_TRUST };
enum { CONF_AUTH_PLAIN, CONF_AUTH_EXTERNAL };
enum { CONF_TLS_OFF, CONF_TLS_VERIFY }; /* broker.tls, redis.tls */
enum { CONF_MYSQL_TLS_OFF, CONF_MYSQL_TLS_PREFERRED, CONF_MYSQL_TLS_REQUIRED, CONF_MYSQL_TLS_VERIFY };
enum { CONF_MODE_SERVER, CONF_MODE_SENTINEL, CONF_MODE_CLUSTER };
enum { CONF_LOG_LEVEL_ERROR, CONF_LOG_LEVEL_WARNING, CONF_LOG_LEVEL_INFO, CONF_LOG_LEVEL_DEBUG };
enum { CONF_LOG_FORMAT_LOGFMT, CONF_LOG_FORMAT_JSON };
enum { CONF_PRIORITY_AUTO, CONF_PRIORITY_ALWAYS, CONF_PRIORITY_NEVER };

/* Reads, type-checks and range-checks path (NULL: all defaults), resolves secret and other files, checks rules across
 * keys. NULL and CONF_INVALID with the first problem found. Where no password file is named, the password is NULL, the
 * broker's "guest"; where no other file is, its path is NULL. The caller owns the result. */
ORDERD_MUST_CHECK struct conf *conf_load(const char *path, struct error *err);
void conf_destroy(struct conf **conf);

/* Every value with its origin as a comment ("default" or file:line); of files, secret or not, only the name and, in the
 * comment, where that was found. Parses back, from the same folder. */
void conf_dump(const struct conf *conf, struct strbuf *out);

/* The commented sample: every key with prose, type, range and default. It is the file config/orderd.conf. */
void conf_dump_defaults(struct strbuf *out);

/* One key: its value and how it may be set. */
struct conf_setting {
    const char *section, *name;
    const char *value; /* as in a file: "5s" with its quotes, 5672, true; of files, secret or not, the name */
    const char *file;  /* where it was set; NULL: the default */
    unsigned line;
    const char *secret_path; /* of a secret or a private key: the file it is in; NULL where none is named */
    const char *file_path;   /* the same for other files */
    const char *expected;    /* "a number from 1 to 65535" */
    bool reload;             /* taken over on SIGHUP */
    const char *prose;
};

/* Calls on_setting for every key in the order of the table; conf == NULL: for the defaults. The texts are valid during
 * the call. */
typedef void (*conf_setting_fn)(void *arg, const struct conf_setting *setting);
void conf_each(const struct conf *conf, conf_setting_fn on_setting, void *arg);

/* Calls on_file for the file that was loaded and for each that it includes, in their order; one that is included twice
 * comes twice. */
typedef void (*conf_file_fn)(void *arg, const char *path);
void conf_each_file(const struct conf *conf, conf_file_fn on_file, void *arg);

/* Calls on_open for each file of the configuration that everybody on this machine may write (secret: NULL), then for
 * each key whose secret or private key everybody may read. What cannot be looked at any more is left out. */
typedef void (*conf_open_fn)(void *arg, const char *path, const struct conf_setting *secret);
void conf_each_open(const struct conf *conf, conf_open_fn on_open, void *arg);

/* One of a list of servers, a row of type NODES: "host:port", separated by commas, spaces or both; an IPv6 address in
 * brackets, which host has not. */
struct conf_node {
    char host[256];
    int port;
};

/* Takes the next one off *list, which moves behind it. false at the end (**list is NUL) and where no address begins at
 * *list; conf_load refuses a file with such a list. NULL is an empty list. */
ORDERD_MUST_CHECK bool conf_node_next(const char **list, struct conf_node *node);

/* How many a list names, and the one at index, from 0; false where there is none. */
unsigned conf_node_count(const char *list);
ORDERD_MUST_CHECK bool conf_node_at(const char *list, unsigned index, struct conf_node *node);

/* All retry delays together, ms: how long a message that fails may still be tried again by itself. */
int64_t conf_retry_total(const struct conf *conf);

/* For SIGHUP: makes `fresh` what may be used now: RELOAD rows keep their new value, RESTART rows are set back to the
 * value of `current`, and so are RELOAD rows that would break a rule (tbl/conf_rule.h) together with one of those.
 * Appends the names of the rows that changed, comma separated: to `taken` those now in force, to `need_restart` those
 * that were set back. `current` may be destroyed afterwards. */
void conf_merge_reload(const struct conf *current, struct conf *fresh, struct strbuf *taken,
                       struct strbuf *need_restart);

/* Whether a replica may be called so: at most 40 of letters, digits, '_', '.' and '-'; "" is the one without a name. */
bool conf_instance_valid(const char *name);

#endif
