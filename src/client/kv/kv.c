#include "kv_cluster.h"

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
    struct kv_site site = kv_site_of(conf, KV_NAMED_HOST, conf->redis_host, (int)conf->redis_port);

    if (conf->redis_mode == CONF_MODE_SENTINEL)
        return kv_sentinel_open(conf, name, err);
    if (conf->redis_mode == CONF_MODE_CLUSTER)
        return kv_cluster_open(conf, name, err);
    return kv_connect(&site, name, err);
}

const char *kv_peer(const struct kv *kv)
{
    return kv->peer;
}

const char *kv_encrypted_by(const struct kv *kv, size_t server, int64_t *until_s)
{
    const struct kv *link = kv->cluster ? kv->cluster->servers[server].link : kv;

    *until_s = 0;
    return link ? kv_tls_cipher(link, until_s) : NULL;
}

void kv_close(struct kv **kv)
{
    if (!*kv)
        return;
    if ((*kv)->cluster) {
        kv_map_free((*kv)->cluster);
    } else {
        kv_tls_close(*kv);
        close((*kv)->fd);
        redisReaderFree((*kv)->reader);
    }
    strbuf_release(&(*kv)->out);
    free((*kv)->loaded);
    free((*kv)->watch);
    free(*kv);
    *kv = NULL;
}

struct kv_reply *kv_command(struct kv *kv, const struct slice *argv, size_t argc, struct error *err)
{
    redisReply *reply;

    if (kv->cluster)
        return kv_cluster_command(kv, argv, argc, err);
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

size_t kv_server_count(const struct kv *kv)
{
    return kv->cluster ? kv->cluster->count : 1;
}

const char *kv_server_name(const struct kv *kv, size_t server)
{
    if (!kv->cluster)
        return kv->peer;
    return kv->cluster->servers[server].listed ? kv->cluster->servers[server].text : NULL;
}

struct kv_reply *kv_command_at(struct kv *kv, size_t server, const struct slice *argv, size_t argc, struct error *err)
{
    return kv->cluster ? kv_cluster_command_at(kv, server, argv, argc, err) : kv_command(kv, argv, argc, err);
}
