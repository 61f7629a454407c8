/* orderctl doctor: Redis Cluster as a whole; its servers one by one are in doctor_redis.c. */
#include "doctor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/kv.h"

#define SLOTS 16384

/* Of CLUSTER INFO; -1 where it has no such line. */
static int64_t number(struct slice info, const char *name)
{
    const char *line = memmem(info.ptr, info.len, name, strlen(name));

    return line ? strtoll(line + strlen(name), NULL, 10) : -1;
}

static void slots(struct doctor *d, struct kv *kv)
{
    struct error err = {0};
    struct kv_reply *reply = kv_command(kv, (const struct slice[]){slice_of("CLUSTER"), slice_of("INFO")}, 2, &err);
    int64_t served = reply ? number(kv_reply_text(reply), "cluster_slots_ok:") : 0;
    int64_t servers = reply ? number(kv_reply_text(reply), "cluster_size:") : 0;

    if (!reply)
        doctor_tell_advice(d, DOCTOR_PROBLEM, DOCTOR_REDIS_CLUSTER, doctor_advice(DOCTOR_REDIS_SERVER, &err), NULL,
                           "%s", err.text);
    else if (served == SLOTS)
        doctor_tell(d, DOCTOR_OK, DOCTOR_REDIS_CLUSTER, NULL, "%" PRId64 " servers have all %d slots", servers, SLOTS);
    else
        doctor_tell(d, DOCTOR_PROBLEM, DOCTOR_REDIS_CLUSTER, NULL,
                    "%" PRId64 " of %d slots have no server that is there: the shards in them cannot sell",
                    SLOTS - served, SLOTS);
    kv_reply_free(&reply);
}

/* Says nothing where the account may not ask. */
static void coverage(struct doctor *d, struct kv *kv)
{
    const struct slice argv[] = {slice_of("CONFIG"), slice_of("GET"), slice_of("cluster-require-full-coverage")};
    struct error ignored;
    struct kv_reply *reply = kv_command(kv, argv, 3, &ignored);

    if (reply && kv_reply_count(reply) == 2 && slice_is(kv_reply_text(kv_reply_at(reply, 1)), "yes"))
        doctor_tell(d, DOCTOR_WARNING, DOCTOR_REDIS_CLUSTER, NULL,
                    "cluster-require-full-coverage is yes: one server that is lost stops all shards");
    kv_reply_free(&reply);
}

void doctor_cluster(struct doctor *d, struct kv *kv)
{
    slots(d, kv);
    coverage(d, kv);
}
