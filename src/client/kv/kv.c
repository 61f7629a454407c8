#include "kv_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/check.h"

#define GREETINGS_MAX 3 /* AUTH, SELECT, CLIENT SETNAME */

static void add_command(struct kv *kv, const struct slice *argv, size_t argc)
{
    kv_request_begin(kv, argc);
    for (size_t i = 0; i < argc; i++)
        kv_request_add(kv, argv[i]);
}

static bool is_set(const char *text)
{
    return text && *text;
}

/* Queues what a new connection must say first; answers how many commands. */
static size_t add_greetings(struct kv *kv, const struct conf *conf, const char *name)
{
    char database[24];
    size_t count = 1;

    if (is_set(conf->redis_user)) {
        const struct slice argv[] = {slice_of("AUTH"), slice_of(conf->redis_user),
                                     slice_of(conf->redis_password_file ? conf->redis_password_file : "")};
        add_command(kv, argv, 3);
        count++;
    } else if (is_set(conf->redis_password_file)) {
        const struct slice argv[] = {slice_of("AUTH"), slice_of(conf->redis_password_file)};
        add_command(kv, argv, 2);
        count++;
    }
    if (conf->redis_database != 0) {
        snprintf(database, sizeof database, "%lld", (long long)conf->redis_database);
        add_command(kv, (const struct slice[]){slice_of("SELECT"), slice_of(database)}, 2);
        count++;
    }
    add_command(kv, (const struct slice[]){slice_of("CLIENT"), slice_of("SETNAME"), slice_of(name)}, 3);
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
static void hide_password(const struct kv *kv, const struct conf *conf, const redisReply *reply, struct error *err)
{
    const char *password = conf->redis_password_file;

    if (is_set(password) && memmem(reply->str, reply->len, password, strlen(password)))
        error_set(err, err->code, "%s: refuses the login in words that repeat the password", kv->peer);
}

static bool greet(struct kv *kv, const struct conf *conf, const char *name, struct error *err)
{
    redisReply *replies[GREETINGS_MAX] = {NULL};
    size_t count = add_greetings(kv, conf, name);
    bool ok = kv_exchange(kv, replies, count, err);

    if (!ok)
        return fail_connection(kv, err);
    for (size_t i = 0; i < count; i++) {
        if (ok && replies[i]->type == REDIS_REPLY_ERROR) {
            ok = kv_error_translate(kv, replies[i], err);
            hide_password(kv, conf, replies[i], err);
            fail_greeting(err);
        }
        freeReplyObject(replies[i]);
    }
    return ok;
}

struct kv *kv_open(const struct conf *conf, const char *name, struct error *err)
{
    int fd = kv_socket_connect(conf->redis_host, (int)conf->redis_port, conf->redis_connect_timeout, err);
    struct kv *kv;

    if (fd < 0)
        return NULL;
    kv = check_calloc(1, sizeof *kv);
    kv->fd = fd;
    kv->reader = redisReaderCreate();
    CHECK(kv->reader != NULL);
    kv->timeout_ms = conf->redis_connect_timeout;
    snprintf(kv->peer, sizeof kv->peer, "%s:%lld", conf->redis_host, (long long)conf->redis_port);
    if ((conf->redis_tls != CONF_TLS_OFF && !kv_tls_open(kv, conf, err)) || !greet(kv, conf, name, err)) {
        kv_close(&kv);
        return NULL;
    }
    kv->timeout_ms = conf->redis_command_timeout;
    return kv;
}

void kv_close(struct kv **kv)
{
    if (!*kv)
        return;
    kv_tls_close(*kv);
    close((*kv)->fd);
    redisReaderFree((*kv)->reader);
    strbuf_release(&(*kv)->out);
    free((*kv)->loaded);
    free(*kv);
    *kv = NULL;
}

struct kv_reply *kv_command(struct kv *kv, const struct slice *argv, size_t argc, struct error *err)
{
    redisReply *reply;

    add_command(kv, argv, argc);
    if (!kv_exchange(kv, &reply, 1, err))
        return NULL;
    if (reply->type == REDIS_REPLY_ERROR) {
        kv_error_translate(kv, reply, err);
        freeReplyObject(reply);
        return NULL;
    }
    return kv_reply_wrap(reply);
}
