#include "kv_private.h"

#include <stdlib.h>
#include <unistd.h>

#include "orderd/check.h"

void kv_add_command(struct kv *kv, const struct slice *argv, size_t argc)
{
    kv_request_begin(kv, argc);
    for (size_t i = 0; i < argc; i++)
        kv_request_add(kv, argv[i]);
}

struct kv *kv_open(const struct conf *conf, const char *name, struct error *err)
{
    struct kv_site site = kv_site_of(conf, conf->redis_host, (int)conf->redis_port);

    if (conf->redis_mode == CONF_MODE_SENTINEL)
        return kv_sentinel_open(conf, name, err);
    return kv_connect(&site, name, err);
}

const char *kv_peer(const struct kv *kv)
{
    return kv->peer;
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
    free((*kv)->watch);
    free(*kv);
    *kv = NULL;
}

struct kv_reply *kv_command(struct kv *kv, const struct slice *argv, size_t argc, struct error *err)
{
    redisReply *reply;

    if (kv->watch && !kv_sentinel_check(kv, err))
        return NULL;
    kv_add_command(kv, argv, argc);
    if (!kv_exchange(kv, &reply, 1, err))
        return NULL;
    if (reply->type == REDIS_REPLY_ERROR) {
        kv_error_translate(kv, reply, err);
        freeReplyObject(reply);
        return NULL;
    }
    return kv_reply_wrap(reply);
}
