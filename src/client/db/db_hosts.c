/* mysql.hosts: which of several servers is the primary?
 *
 * The one that can be written. Nobody else says so: there is no Sentinel here, and which server may be written is
 * decided by whoever switches them. What one thread finds counts for the whole process, so that a connection to a
 * server that hangs, or comes back from the dead and can still be written, is not used beside the new one.
 *
 * Two that can be written are two truths. We cannot fence any of them, but before a process begins with a server, or
 * goes over to another, it looks at all others too, and takes none where two would take its writes. */
#include "db_private.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/log.h"

/* The others are looked at for so long: most of them are there, and read-only; one that is not there is not asked. */
#define LOOK_MS 1000

/* The process' primary. */
static struct {
    pthread_mutex_t lock;
    char *text;    /* the list it is of: a process has one, tests have several */
    unsigned list; /* counts them */
    bool known;
    struct conf_node node;
    atomic_uint generation; /* grows with each change; read without the lock */
} primary = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct search {
    const struct conf *conf;
    unsigned list;
    bool known; /* there was a primary when we began */
    unsigned generation;
    struct conf_node first;
    unsigned asked, read_only, setup;
    char why[ERROR_TEXT_MAX];
};

static bool same(const struct conf_node *a, const struct conf_node *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

static void begin(struct search *s)
{
    CHECK_ZERO(pthread_mutex_lock(&primary.lock));
    if (!primary.text || strcmp(primary.text, s->conf->mysql_hosts) != 0) {
        free(primary.text);
        primary.text = check_strdup(s->conf->mysql_hosts);
        primary.list++;
        primary.known = false;
    }
    s->list = primary.list;
    s->known = primary.known;
    s->first = primary.node;
    s->generation = atomic_load(&primary.generation);
    CHECK_ZERO(pthread_mutex_unlock(&primary.lock));
}

static void describe(const struct conf_node *node, char out[DB_PEER_MAX])
{
    snprintf(out, DB_PEER_MAX, strchr(node->host, ':') ? "[%s]:%d" : "%s:%d", node->host, node->port);
}

/* Under the lock. Another thread has found another one since we began: it saw later than we did, and its word stands. A
 * slow login at a server that was left meanwhile would lead everybody back there. */
static bool is_overtaken(const struct search *s, const struct conf_node *node)
{
    return primary.list == s->list && primary.known && atomic_load(&primary.generation) != s->generation &&
           !same(&primary.node, node);
}

/* Under the lock. */
static void adopt(const struct search *s, struct db *db, const struct conf_node *node, char from[DB_PEER_MAX])
{
    if (primary.list == s->list && !(primary.known && same(&primary.node, node))) {
        if (primary.known)
            describe(&primary.node, from);
        primary.node = *node;
        primary.known = true;
        atomic_fetch_add(&primary.generation, 1);
    }
    db->list = s->list;
    db->generation = atomic_load(&primary.generation);
}

/* What is found is the whole process' from now on. */
static bool settle(const struct search *s, struct db *db, const struct conf_node *node, struct error *err)
{
    char from[DB_PEER_MAX] = "", other[DB_PEER_MAX] = "";

    CHECK_ZERO(pthread_mutex_lock(&primary.lock));
    if (is_overtaken(s, node))
        describe(&primary.node, other);
    else
        adopt(s, db, node, from);
    CHECK_ZERO(pthread_mutex_unlock(&primary.lock));
    if (other[0])
        return error_set(err, ERROR_DB_AWAY, "MySQL at %s took writes, but meanwhile the primary is %s", db->peer,
                         other);
    if (from[0])
        log_event(LOG_EVENT_DB_SWITCHED, LOG_STR("from", from), LOG_STR("to", db->peer));
    return true;
}

bool db_hosts_moved(struct db *db, char other[DB_PEER_MAX])
{
    bool moved;

    if (db->list == 0 || atomic_load(&primary.generation) == db->generation)
        return false;
    CHECK_ZERO(pthread_mutex_lock(&primary.lock));
    describe(&primary.node, other);
    moved = primary.list == db->list && strcmp(other, db->peer) != 0;
    db->generation = atomic_load(&primary.generation);
    CHECK_ZERO(pthread_mutex_unlock(&primary.lock));
    return moved;
}

static struct db *open_at(const struct conf *conf, const struct conf_node *node, int64_t connect_ms, bool *writable,
                          struct error *err)
{
    struct db_site site = {.host = node->host, .port = node->port, .socket = "", .named = "mysql.hosts"};

    return db_connect(conf, &site, connect_ms, writable, err);
}

struct db *db_open_host(const struct conf *conf, const struct conf_node *node, bool *writable, struct error *err)
{
    return open_at(conf, node, conf->mysql_connect_timeout, writable, err);
}

/* ---- two that can be written ---- */

struct identity {
    char text[512];
};

static bool take_identity(void *arg, const struct slice *columns, unsigned count)
{
    struct identity *id = arg;

    return count == 1 && snprintf(id->text, sizeof id->text, "%.*s", (int)columns[0].len, columns[0].ptr) > 0;
}

/* One server may have several names. */
static bool same_server(struct db *a, struct db *b)
{
    const struct slice sql = slice_of("SELECT CONCAT_WS('|',@@hostname,@@port,@@server_id,@@datadir)");
    struct identity one = {""}, two = {""};
    struct error ignored;

    return db_query(a, sql, take_identity, &one, &ignored) && db_query(b, sql, take_identity, &two, &ignored) &&
           strcmp(one.text, two.text) == 0;
}

static bool is_second(const struct search *s, const struct conf_node *node, struct db *db, struct error *err)
{
    int64_t look = s->conf->mysql_connect_timeout < LOOK_MS ? s->conf->mysql_connect_timeout : LOOK_MS;
    struct error ignored;
    struct db *other = open_at(s->conf, node, look, NULL, &ignored);
    bool second = other && !same_server(db, other);

    if (second) /* an outage: it may be over soon, where a switch lets the new one write first */
        error_set(err, ERROR_DB_READ_ONLY,
                  "two servers of mysql.hosts take writes, %s and %s, and only one can be the primary: set read_only "
                  "on the other",
                  db->peer, other->peer);
    db_close(&other);
    return second;
}

static bool is_only_one(const struct search *s, const struct conf_node *at, struct db *db, struct error *err)
{
    const char *list = s->conf->mysql_hosts;
    struct conf_node node;

    if (s->known && same(at, &s->first))
        return true;
    while (conf_node_next(&list, &node)) {
        if (!same(&node, at) && is_second(s, &node, db, err))
            return false;
    }
    return true;
}

/* ---- the search ---- */

static void note(struct search *s, const struct error *err)
{
    size_t at = strlen(s->why);

    s->asked++;
    s->read_only += err->code == ERROR_DB_READ_ONLY;
    s->setup += error_class_of(err) == ERROR_CLASS_SETUP;
    snprintf(s->why + at, sizeof s->why - at, "%s%s", at ? "; " : "", err->text);
}

/* NULL: it cannot be this one. *ends: nor any other, and *err says why. */
static struct db *try(struct search *s, const struct conf_node *node, bool *ends, struct error *err)
{
    struct error own = {0};
    struct db *db = open_at(s->conf, node, s->conf->mysql_connect_timeout, NULL, &own);

    if (!db) {
        note(s, &own);
        return NULL;
    }
    if (is_only_one(s, node, db, err) && settle(s, db, node, err))
        return db;
    *ends = true;
    db_close(&db);
    return NULL;
}

/* Where some server is only away, or waits to be promoted, waiting helps. */
static void explain(const struct search *s, struct error *err)
{
    enum error_code code = s->read_only > 0 ? ERROR_DB_READ_ONLY : ERROR_DB_AWAY;

    if (s->setup == s->asked)
        code = ERROR_DB_SETUP;
    error_set(err, code, "no server of mysql.hosts takes writes: %s", s->why);
}

struct db *db_hosts_open(const struct conf *conf, struct error *err)
{
    struct search s = {.conf = conf};
    const char *list = conf->mysql_hosts;
    struct conf_node node;
    struct db *db = NULL;
    bool ends = false;

    begin(&s);
    if (s.known)
        db = try(&s, &s.first, &ends, err);
    while (!db && !ends && conf_node_next(&list, &node)) {
        if (!s.known || !same(&node, &s.first))
            db = try(&s, &node, &ends, err);
    }
    if (!db && !ends)
        explain(&s, err);
    return db;
}
