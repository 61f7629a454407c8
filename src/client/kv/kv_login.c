/* A connection to one server, and what it must say first. */
#include "kv_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

#define GREETINGS_MAX 3 /* AUTH, SELECT, CLIENT SETNAME */

struct kv_site kv_site_of(const struct conf *conf, enum kv_named named, const char *host, int port)
{
    return (struct kv_site){.host = host,
                            .port = port,
                            .named = named,
                            .user = conf->redis_user,
                            .password = conf->redis_password_file,
                            .database = conf->redis_database,
                            .connect_timeout = conf->redis_connect_timeout,
                            .command_timeout = conf->redis_command_timeout,
                            .wait_replicas = conf->redis_wait_replicas,
                            .wait_timeout = conf->redis_wait_timeout,
                            .tls = conf->redis_tls != CONF_TLS_OFF ? conf : NULL};
}

static bool is_set(const char *text)
{
    return text && *text;
}

/* Queues what a new connection must say first; answers how many commands. */
static size_t add_greetings(struct kv *kv, const struct kv_site *site, const char *name)
{
    char database[24];
    size_t count = 1;

    if (is_set(site->user)) {
        const struct slice argv[] = {slice_of("AUTH"), slice_of(site->user),
                                     slice_of(site->password ? site->password : "")};
        kv_add_command(kv, argv, 3);
        count++;
    } else if (is_set(site->password)) {
        const struct slice argv[] = {slice_of("AUTH"), slice_of(site->password)};
        kv_add_command(kv, argv, 2);
        count++;
    }
    if (site->database != 0) {
        snprintf(database, sizeof database, "%lld", (long long)site->database);
        kv_add_command(kv, (const struct slice[]){slice_of("SELECT"), slice_of(database)}, 2);
        count++;
    }
    kv_add_command(kv, (const struct slice[]){slice_of("CLIENT"), slice_of("SETNAME"), slice_of(name)}, 3);
    return count;
}

/* Nothing that could be lost has been sent yet, and a refused login or database is for an operator to mend. */
static bool fail_greeting(struct error *err)
{
    if (err->code == ERROR_KV_LOST)
        err->code = ERROR_KV_AWAY;
    else if (err->code == ERROR_KV_DATA)
        err->code = ERROR_KV_SETUP;
    return false;
}

static bool fail_connection(struct kv *kv, struct error *err)
{
    struct error why = *err;

    if (kv_tls_refused(kv, err))
        return false;
    if (!kv->tls && why.code == ERROR_KV_LOST)
        error_set(err, why.code, "%s; if that is its TLS port, set redis.tls to \"verify\"", why.text);
    return fail_greeting(err);
}

/* A server that does not know AUTH, or a proxy in its place, may answer with what it was told. */
static void hide_password(const struct kv *kv, const struct kv_site *site, const redisReply *reply, struct error *err)
{
    if (is_set(site->password) && memmem(reply->str, reply->len, site->password, strlen(site->password)))
        error_set(err, err->code, "%s: refuses the login in words that repeat the password", kv->peer);
}

static bool greet(struct kv *kv, const struct kv_site *site, const char *name, struct error *err)
{
    redisReply *replies[GREETINGS_MAX] = {NULL};
    size_t count = add_greetings(kv, site, name);
    bool ok = kv_exchange(kv, replies, count, err);

    if (!ok)
        return fail_connection(kv, err);
    for (size_t i = 0; i < count; i++) {
        if (ok && replies[i]->type == REDIS_REPLY_ERROR) {
            ok = kv_error_translate(kv, replies[i], err);
            hide_password(kv, site, replies[i], err);
            fail_greeting(err);
        }
        freeReplyObject(replies[i]);
    }
    return ok;
}

struct kv *kv_connect(const struct kv_site *site, const char *name, struct error *err)
{
    int fd = kv_socket_connect(site->host, site->port, site->connect_timeout, err);
    struct kv *kv;

    if (fd < 0)
        return NULL;
    kv = check_calloc(1, sizeof *kv);
    kv->fd = fd;
    kv->reader = redisReaderCreate();
    CHECK(kv->reader != NULL);
    kv->timeout_ms = site->connect_timeout;
    snprintf(kv->peer, sizeof kv->peer, "%s:%d", site->host, site->port);
    if ((site->tls && !kv_tls_open(kv, site, err)) || !greet(kv, site, name, err)) {
        kv_close(&kv);
        return NULL;
    }
    kv->timeout_ms = site->command_timeout;
    kv->wait_replicas = site->wait_replicas;
    kv->wait_ms = site->wait_timeout;
    return kv;
}
