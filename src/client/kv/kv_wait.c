/* WAIT: how many replicas have what this connection wrote. https://redis.io/docs/latest/commands/wait/ */
#include "kv_private.h"

#include <stdio.h>

#include "orderd/log.h"
#include "orderd/metric.h"

/* Connections come and go, and a block stays: one for each thread. */
static struct metric_block *own_block(void)
{
    static _Thread_local struct metric_block *block;

    if (!block)
        block = metric_register();
    return block;
}

bool kv_wait_add(struct kv *kv, const struct kv_call *calls, size_t count)
{
    char replicas[24], timeout[24];
    bool writes = false;

    for (size_t i = 0; i < count && !writes; i++)
        writes = !calls[i].script->only_reads;
    if (kv->wait_replicas == 0 || !writes)
        return false;
    snprintf(replicas, sizeof replicas, "%lld", (long long)kv->wait_replicas);
    snprintf(timeout, sizeof timeout, "%lld", (long long)kv->wait_ms);
    kv_add_command(kv, (const struct slice[]){slice_of("WAIT"), slice_of(replicas), slice_of(timeout)}, 3);
    return true;
}

void kv_wait_note(const struct kv *kv, redisReply *reply)
{
    bool number = reply->type == REDIS_REPLY_INTEGER;

    metric_add(own_block(), METRIC_KV_WAITS, 1);
    if (!number || reply->integer < kv->wait_replicas) {
        metric_add(own_block(), METRIC_KV_WAITS_SHORT, 1);
        log_event(LOG_EVENT_KV_WAIT_SHORT, LOG_STR("server", kv->peer),
                  LOG_INT("confirmed", number ? reply->integer : 0), LOG_INT("wanted", kv->wait_replicas),
                  LOG_STR("why", number ? "" : reply->str));
    }
    freeReplyObject(reply);
}
