/* Redis Sentinel: who is the primary? https://redis.io/docs/latest/develop/reference/sentinel-clients/
 *
 * A Sentinel may name a server that was demoted or died since, so that its word is only where to look: the server
 * itself has to say that it is the primary. One that was cut off from its Sentinels may still say so for a while; what
 * is written there is lost with it. That window is the server's to close (min-replicas-to-write), and what fell into it
 * the walk's to mend. And who has told of a failover is not contradicted by a Sentinel that has not heard of it. */
#include "kv_private.h"
#include "kv_epoch.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

/* Which Sentinel knew the last time, in the order of the list: only where to begin, so that a dead one costs its
 * time-out once and not for each connection. Of the whole process. */
static atomic_uint preferred;

#define CHECK_MS        1000
#define CHECK_MS_SILENT 10000 /* after none answered: each question costs time, and the server may be well */

struct search {
    const struct conf *conf;
    const char *name;
    struct conf_node primary; /* the one that was tried last, so that no two Sentinels make us try it twice */
    unsigned asked, silent, ignorant, behind;
};

struct kv *kv_open_sentinel(const struct conf *conf, const struct conf_node *node, const char *name, struct error *err)
{
    struct kv_site site = {.host = node->host,
                           .port = node->port,
                           .named = KV_NAMED_NODES,
                           .user = conf->redis_sentinel_user,
                           .password = conf->redis_sentinel_password_file,
                           .connect_timeout = conf->redis_sentinel_timeout,
                           .command_timeout = conf->redis_sentinel_timeout,
                           .tls = conf->redis_tls != CONF_TLS_OFF ? conf : NULL};

    return kv_connect(&site, name, err);
}

static bool read_address(const struct kv_reply *reply, struct conf_node *primary)
{
    struct slice host = kv_reply_count(reply) == 2 ? kv_reply_text(kv_reply_at(reply, 0)) : (struct slice){"", 0};
    int64_t port = host.len > 0 ? kv_reply_integer(kv_reply_at(reply, 1)) : 0;

    if (host.len == 0 || host.len >= sizeof primary->host || memchr(host.ptr, '\0', host.len) || port < 1 ||
        port > 65535)
        return false;
    memset(primary, 0, sizeof *primary); /* they are compared */
    memcpy(primary->host, host.ptr, host.len);
    primary->port = (int)port;
    return true;
}

/* Field and value by turns. -1: no such field (the account may not ask, or there is no such primary). */
static int64_t read_epoch(const struct kv_reply *reply)
{
    for (size_t i = 0; i + 1 < kv_reply_count(reply); i += 2) {
        if (slice_is(kv_reply_text(kv_reply_at(reply, i)), "config-epoch"))
            return kv_reply_integer(kv_reply_at(reply, i + 1));
    }
    return -1;
}

/* Both questions in one round trip, so that address and epoch are of one configuration. false: no answer is kept. */
static bool question(const struct search *s, struct kv *kv, redisReply *answers[2], struct error *err)
{
    static const char *const what[] = {"get-master-addr-by-name", "master"};

    for (size_t i = 0; i < 2; i++)
        kv_add_command(
            kv,
            (const struct slice[]){slice_of("SENTINEL"), slice_of(what[i]), slice_of(s->conf->redis_sentinel_master)},
            3);
    if (!kv_exchange(kv, answers, 2, err))
        return false;
    if (answers[0]->type != REDIS_REPLY_ERROR)
        return true;
    kv_error_translate(kv, answers[0], err);
    if (kv_error_is(answers[0], "ERR unknown command"))
        error_set(err, ERROR_KV_SETUP,
                  "it is no Sentinel: redis.nodes names Sentinels (26379 as a rule), or redis.mode is another");
    freeReplyObject(answers[0]);
    freeReplyObject(answers[1]);
    return false;
}

/* Whether it is told of an earlier configuration than somebody has told us. */
static bool is_behind(struct search *s, int64_t epoch, struct error *err)
{
    char whose[2 * sizeof s->primary.host];
    int64_t newest;

    snprintf(whose, sizeof whose, "%.200s %.255s", s->conf->redis_sentinel_master, s->conf->redis_nodes);
    if (epoch < 0 || !kv_epoch_is_behind(whose, epoch, clock_mono_ms(), &newest))
        return false;
    s->behind++;
    error_set(err, ERROR_KV_AWAY, "it is behind: it tells of failover %" PRId64 ", and there was %" PRId64, epoch,
              newest);
    return true;
}

static bool read_answers(struct search *s, redisReply *answers[2], struct conf_node *primary, struct error *err)
{
    if (!read_address(kv_reply_wrap(answers[0]), primary)) {
        s->ignorant++;
        return error_set(err, ERROR_KV_SETUP, "it knows no primary of the name \"%s\"", s->conf->redis_sentinel_master);
    }
    return !is_behind(s, read_epoch(kv_reply_wrap(answers[1])), err);
}

/* false: it did not say, or is behind; counts why. */
static bool ask(struct search *s, const struct conf_node *sentinel, struct conf_node *primary, struct error *err)
{
    struct kv *kv = kv_open_sentinel(s->conf, sentinel, s->name, err);
    redisReply *answers[2];
    bool answered = kv && question(s, kv, answers, err), known = answered && read_answers(s, answers, primary, err);

    s->silent += !answered;
    if (!known)
        error_prefix(err, "Sentinel %s:%d", sentinel->host, sentinel->port);
    for (size_t i = 0; answered && i < 2; i++)
        freeReplyObject(answers[i]);
    kv_close(&kv);
    return known;
}

static bool is_primary(struct kv *kv, struct error *err)
{
    struct kv_reply *reply = kv_command(kv, (const struct slice[]){slice_of("ROLE")}, 1, err);
    struct slice role;
    bool ok;

    if (!reply) {
        if (err->code == ERROR_KV_LOST) /* nothing that could be lost */
            err->code = ERROR_KV_AWAY;
        return false;
    }
    role = kv_reply_text(kv_reply_at(reply, 0));
    ok = slice_is(role, "master") ||
         error_set(err, ERROR_KV_READ_ONLY, "%s: its role is \"%.*s\", not that of the primary", kv_peer(kv),
                   (int)role.len, role.ptr);
    kv_reply_free(&reply);
    return ok;
}

static struct kv *open_primary(struct search *s, const struct conf_node *sentinel, struct error *err)
{
    struct kv_site site = kv_site_of(s->conf, KV_NAMED_SENTINELS, s->primary.host, s->primary.port);
    struct kv *kv = kv_connect(&site, s->name, err);

    if (kv && !is_primary(kv, err))
        kv_close(&kv);
    if (!kv)
        error_prefix(err, "the primary \"%s\" by the word of Sentinel %s:%d", s->conf->redis_sentinel_master,
                     sentinel->host, sentinel->port);
    return kv;
}

/* One Sentinel, and whom it names. What a server said of itself tells more than a Sentinel's silence. */
static struct kv *try(struct search *s, const struct conf_node *sentinel, struct error *err)
{
    struct conf_node primary;
    struct error own;

    s->asked++;
    if (!ask(s, sentinel, &primary, &own)) {
        if (s->primary.port == 0)
            *err = own;
        return NULL;
    }
    if (memcmp(&primary, &s->primary, sizeof primary) == 0)
        return NULL;
    s->primary = primary;
    return open_primary(s, sentinel, err);
}

/* Nobody named a server: because nobody answered, or because the name is wrong? */
static void explain(const struct search *s, struct error *err)
{
    if (s->primary.port != 0)
        return;
    if (s->behind > 0)
        error_set(err, ERROR_KV_AWAY,
                  "no Sentinel that answers knows of the last failover of \"%s\" yet (%u of %u do not answer)",
                  s->conf->redis_sentinel_master, s->silent, s->asked);
    else if (s->ignorant > 0)
        error_set(err, ERROR_KV_SETUP,
                  "no Sentinel that answers knows a primary of the name \"%s\" (%u of %u do not answer)",
                  s->conf->redis_sentinel_master, s->silent, s->asked);
    else
        error_prefix(err, "none of %u Sentinels answers", s->asked);
}

static void watch(struct kv *kv, const struct search *s)
{
    kv->watch = check_calloc(1, sizeof *kv->watch);
    kv->watch->conf = s->conf;
    kv->watch->primary = s->primary;
    kv->watch->next_ms = clock_mono_ms() + CHECK_MS;
}

struct kv *kv_sentinel_open(const struct conf *conf, const char *name, struct error *err)
{
    struct search s = {.conf = conf, .name = name};
    unsigned count = conf_node_count(conf->redis_nodes), first = atomic_load(&preferred);
    struct conf_node node;

    if (count == 0) {
        error_set(err, ERROR_KV_SETUP, "redis.nodes names no Sentinel");
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        struct kv *kv;

        if (conf_node_at(conf->redis_nodes, (first + i) % count, &node) && (kv = try(&s, &node, err))) {
            atomic_store(&preferred, (first + i) % count);
            watch(kv, &s);
            return kv;
        }
    }
    explain(&s, err);
    return NULL;
}

/* Whom the first Sentinel that answers names. */
static bool ask_any(struct search *s, struct conf_node *sentinel, struct conf_node *primary)
{
    unsigned count = conf_node_count(s->conf->redis_nodes), first = atomic_load(&preferred);
    struct error ignored;

    for (unsigned i = 0; i < count; i++) {
        if (conf_node_at(s->conf->redis_nodes, (first + i) % count, sentinel) && ask(s, sentinel, primary, &ignored)) {
            atomic_store(&preferred, (first + i) % count);
            return true;
        }
    }
    return false;
}

/* Another one is named: only a server that says so itself replaces ours. */
static bool is_replaced(struct search *s, const struct conf_node *sentinel)
{
    struct error ignored;
    struct kv *other = open_primary(s, sentinel, &ignored);
    bool replaced = other != NULL;

    kv_close(&other);
    return replaced;
}

bool kv_sentinel_check(struct kv *kv, struct error *err)
{
    struct kv_watch *w = kv->watch;
    struct search s = {.conf = w->conf, .name = "orderd-check"};
    struct conf_node sentinel;
    bool told;

    if (clock_mono_ms() < w->next_ms)
        return true;
    told = ask_any(&s, &sentinel, &s.primary);
    w->next_ms = clock_mono_ms() + (told || s.behind > 0 ? CHECK_MS : CHECK_MS_SILENT);
    if (!told || memcmp(&s.primary, &w->primary, sizeof s.primary) == 0 || !is_replaced(&s, &sentinel))
        return true;
    kv->broken = true;
    return error_set(err, ERROR_KV_AWAY, "%s: it is not the primary any more, that is %s:%d; nothing was sent",
                     kv->peer, s.primary.host, s.primary.port);
}
