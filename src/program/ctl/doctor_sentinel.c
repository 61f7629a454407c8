/* orderctl doctor: Redis Sentinel. Each Sentinel is asked alone, as if it were the only server there is. */
#include "doctor.h"

#include <stdio.h>
#include <string.h>

#include "orderd/kv.h"

#define SENTINELS_LEAST 3 /* two that agree are a majority only of three */

static struct kv_reply *ask(const struct conf *conf, struct kv *kv, const char *what, struct error *err)
{
    const struct slice argv[] = {slice_of("SENTINEL"), slice_of(what), slice_of(conf->redis_sentinel_master)};

    return kv_command(kv, argv, 3, err);
}

/* Whether it names the server that was found with the help of all of them. */
static bool names(struct doctor *d, struct kv *kv, struct kv *primary, const char *subject, struct error *err)
{
    struct kv_reply *reply = ask(d->ctl->conf, kv, "get-master-addr-by-name", err);
    char named[300] = "no primary of this name";
    struct slice host;
    bool same;

    if (!reply)
        return false;
    host = kv_reply_text(kv_reply_count(reply) == 2 ? kv_reply_at(reply, 0) : reply);
    if (kv_reply_count(reply) == 2)
        snprintf(named, sizeof named, "%.*s:%d", (int)host.len, host.ptr, (int)kv_reply_integer(kv_reply_at(reply, 1)));
    same = primary && strcmp(named, kv_peer(primary)) == 0;
    doctor_tell(d, same ? DOCTOR_OK : DOCTOR_PROBLEM, DOCTOR_REDIS_SENTINEL, subject,
                same ? "it names %s" : "it names %s, which is not the primary that was found", named);
    kv_reply_free(&reply);
    return true;
}

/* Its own judgement of whether a failover could be decided now. */
static bool could_fail_over(struct doctor *d, struct kv *kv, const char *subject, struct error *err)
{
    struct kv_reply *reply = ask(d->ctl->conf, kv, "ckquorum", err);

    if (!reply && error_class_of(err) == ERROR_CLASS_OUTAGE)
        return false;
    if (!reply)
        doctor_tell(d, DOCTOR_WARNING, DOCTOR_REDIS_SENTINEL, subject, "no failover could be decided now: %s",
                    err->text);
    kv_reply_free(&reply);
    return true;
}

static void encryption(struct doctor *d, const struct kv *kv, const struct conf_node *node, const char *subject)
{
    struct doctor_tls tls = {.subject = subject, .verified = true, .here = doctor_is_here(node->host)};

    tls.by = kv_encrypted_by(kv, 0, &tls.until_s);
    doctor_tell_tls(d, DOCTOR_REDIS_TLS, &tls);
}

static void sentinel(struct doctor *d, const struct conf_node *node, struct kv *primary)
{
    char subject[300];
    struct error err = {0};
    struct kv *kv = kv_open_sentinel(d->ctl->conf, node, "orderctl", &err);

    snprintf(subject, sizeof subject, "%s:%d", node->host, node->port);
    if (kv)
        encryption(d, kv, node, subject);
    if (!kv || !names(d, kv, primary, subject, &err) || !could_fail_over(d, kv, subject, &err))
        doctor_tell_advice(d, DOCTOR_WARNING, DOCTOR_REDIS_SENTINEL, doctor_advice(DOCTOR_REDIS_SERVER, &err), subject,
                           "%s", err.text);
    kv_close(&kv);
}

/* Says nothing where the account may not ask. */
static void fence(struct doctor *d, struct kv *kv)
{
    const struct slice argv[] = {slice_of("CONFIG"), slice_of("GET"), slice_of("min-replicas-to-write")};
    struct error ignored;
    struct kv_reply *reply = kv_command(kv, argv, 3, &ignored);
    const struct kv_reply *least = reply && kv_reply_count(reply) == 2 ? kv_reply_at(reply, 1) : NULL;

    if (least && kv_reply_integer(least) > 0)
        doctor_tell(d, DOCTOR_OK, DOCTOR_REDIS_FENCE, NULL, "a primary that is cut off stops taking writes");
    else if (least)
        doctor_tell(d, DOCTOR_WARNING, DOCTOR_REDIS_FENCE, NULL,
                    "min-replicas-to-write is 0: a primary that is cut off takes writes that are lost with it");
    kv_reply_free(&reply);
}

void doctor_sentinels(struct doctor *d, struct kv *kv)
{
    const char *list = d->ctl->conf->redis_nodes;
    struct conf_node node;
    unsigned count = 0;

    for (; conf_node_next(&list, &node); count++)
        sentinel(d, &node, kv);
    if (count < SENTINELS_LEAST)
        doctor_tell(d, DOCTOR_WARNING, DOCTOR_REDIS_SENTINEL, NULL,
                    "redis.nodes names %u: fewer than three cannot agree when one is lost", count);
    if (kv)
        fence(d, kv);
}
