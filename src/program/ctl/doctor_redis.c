/* orderctl doctor: Redis or Valkey. Asks INFO, TIME and EVAL; CONFIG, which is often forbidden where others run it,
 * only for what nothing else tells. */
#include "doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"

#define VERSION_LEAST 7
#define FIELD_MAX     64

struct info {
    char *text;
};

/* "" where there is no such line. */
static const char *field(const struct info *info, const char *name, char out[FIELD_MAX])
{
    size_t len = strlen(name);

    out[0] = '\0';
    for (const char *line = info->text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, name, len) != 0 || line[len] != ':')
            continue;
        snprintf(out, FIELD_MAX, "%.*s", (int)strcspn(line + len + 1, "\r\n"), line + len + 1);
        break;
    }
    return out;
}

static int64_t number(const struct info *info, const char *name)
{
    char text[FIELD_MAX];

    return strtoll(field(info, name, text), NULL, 10);
}

static bool is(const struct info *info, const char *name, const char *value)
{
    char text[FIELD_MAX];

    return strcmp(field(info, name, text), value) == 0;
}

static void version(struct doctor *d, const struct info *info)
{
    char valkey[FIELD_MAX], redis[FIELD_MAX];

    if (field(info, "valkey_version", valkey)[0])
        doctor_tell(d, DOCTOR_OK, DOCTOR_REDIS_VERSION, NULL, "Valkey %s", valkey);
    else
        doctor_tell(d, number(info, "redis_version") >= VERSION_LEAST ? DOCTOR_OK : DOCTOR_PROBLEM,
                    DOCTOR_REDIS_VERSION, NULL, "Redis %s", field(info, "redis_version", redis));
}

static void role(struct doctor *d, const struct info *info)
{
    char text[FIELD_MAX];

    if (is(info, "role", "master"))
        doctor_tell(d, DOCTOR_OK, DOCTOR_REDIS_ROLE, NULL, "it is the primary, with %" PRId64 " replicas",
                    number(info, "connected_slaves"));
    else
        doctor_tell(d, DOCTOR_PROBLEM, DOCTOR_REDIS_ROLE, NULL, "it is a replica (of %s), and takes no writes",
                    field(info, "master_host", text));
    if (number(info, "cluster_enabled"))
        doctor_tell(d, DOCTOR_WARNING, DOCTOR_REDIS_CLUSTER, NULL,
                    "it is part of a cluster, of which orderd talks to this one node");
}

/* Every key of a sale has a TTL, so the volatile policies evict it as well. Nothing is evicted while there is no
 * limit. */
static void eviction(struct doctor *d, const struct info *info)
{
    char policy[FIELD_MAX];
    int64_t limit = number(info, "maxmemory"), used = number(info, "used_memory");

    field(info, "maxmemory_policy", policy);
    if (strcmp(policy, "noeviction") == 0)
        doctor_tell(d, DOCTOR_OK, DOCTOR_REDIS_EVICTION, NULL, "nothing is evicted");
    else
        doctor_tell(d, limit ? DOCTOR_PROBLEM : DOCTOR_WARNING, DOCTOR_REDIS_EVICTION, NULL,
                    "maxmemory-policy is %s: keys of a sale vanish when memory %s", policy,
                    limit ? "is full" : "gets a limit");
    if (limit)
        doctor_tell(d, used > limit / 10 * 8 ? DOCTOR_WARNING : DOCTOR_OK, DOCTOR_REDIS_MEMORY, NULL,
                    "%" PRId64 " %% of maxmemory is used", used / (limit / 100 + 1));
}

static struct kv_reply *command(struct kv *kv, const char *const words[3], struct error *err)
{
    struct slice argv[3];
    size_t count = 0;

    while (count < 3 && words[count]) {
        argv[count] = slice_of(words[count]);
        count++;
    }
    return kv_command(kv, argv, count, err);
}

/* Whether appendfsync is "no"; false also where the account may not ask. */
static bool never_flushed(struct kv *kv)
{
    struct error ignored;
    struct kv_reply *reply = command(kv, (const char *const[3]){"CONFIG", "GET", "appendfsync"}, &ignored);
    bool never = reply && kv_reply_count(reply) == 2 && slice_is(kv_reply_text(kv_reply_at(reply, 1)), "no");

    kv_reply_free(&reply);
    return never;
}

static void persistence(struct doctor *d, struct kv *kv, const struct info *info)
{
    bool aof = number(info, "aof_enabled");

    if (aof && !is(info, "aof_last_write_status", "ok"))
        doctor_tell(d, DOCTOR_PROBLEM, DOCTOR_REDIS_PERSISTENCE, NULL, "its last write to the append-only file failed");
    else if (!is(info, "rdb_last_bgsave_status", "ok"))
        doctor_tell(d, DOCTOR_PROBLEM, DOCTOR_REDIS_PERSISTENCE, NULL, "its last snapshot failed");
    else if (aof && never_flushed(kv))
        doctor_tell(d, DOCTOR_WARNING, DOCTOR_REDIS_PERSISTENCE, NULL,
                    "appendfsync is no: after a crash of its machine a running sale has to be rebuilt from MySQL");
    else if (aof)
        doctor_tell(d, DOCTOR_OK, DOCTOR_REDIS_PERSISTENCE, NULL, "the append-only file is on");
    else
        doctor_tell(d, DOCTOR_WARNING, DOCTOR_REDIS_PERSISTENCE, NULL,
                    "the append-only file is off: after a crash a running sale has to be rebuilt from MySQL");
}

static void judge(struct doctor *d, struct kv *kv, const struct info *info)
{
    version(d, info);
    role(d, info);
    eviction(d, info);
    persistence(d, kv, info);
}

static bool read_info(struct doctor *d, struct kv *kv, struct error *err)
{
    struct kv_reply *reply = command(kv, (const char *const[3]){"INFO"}, err);
    struct strbuf text = STRBUF_INIT;

    if (!reply)
        return false;
    strbuf_add_slice(&text, kv_reply_text(reply));
    judge(d, kv, &(struct info){text.data});
    strbuf_release(&text);
    kv_reply_free(&reply);
    return true;
}

static bool read_clock(struct doctor *d, struct kv *kv, struct error *err)
{
    int64_t asked = clock_wall_ms(), answered;
    struct kv_reply *reply = command(kv, (const char *const[3]){"TIME"}, err);

    if (!reply)
        return false;
    answered = clock_wall_ms();
    if (kv_reply_count(reply) != 2) {
        kv_reply_free(&reply);
        return error_set(err, ERROR_KV_DATA, "TIME is answered by something else than a time");
    }
    d->redis =
        doctor_clock(asked, answered,
                     kv_reply_integer(kv_reply_at(reply, 0)) * 1000 + kv_reply_integer(kv_reply_at(reply, 1)) / 1000);
    doctor_tell_clock(d, DOCTOR_REDIS_CLOCK, &d->redis);
    kv_reply_free(&reply);
    return true;
}

static bool run_script(struct doctor *d, struct kv *kv, struct error *err)
{
    struct kv_reply *reply = command(kv, (const char *const[3]){"EVAL", "return 1", "0"}, err);

    if (!reply && error_class_of(err) == ERROR_CLASS_OUTAGE)
        return false;
    if (reply)
        doctor_tell(d, DOCTOR_OK, DOCTOR_REDIS_SCRIPT, NULL, "the account may run scripts");
    else
        doctor_tell(d, DOCTOR_PROBLEM, DOCTOR_REDIS_SCRIPT, NULL, "%s", err->text);
    kv_reply_free(&reply);
    return true;
}

static void encryption(struct doctor *d, const struct kv *kv)
{
    struct doctor_tls tls = {.verified = true, .here = doctor_is_here(d->ctl->conf->redis_host)};

    tls.by = kv_encrypted_by(kv, &tls.until_s);
    doctor_tell_tls(d, DOCTOR_REDIS_TLS, &tls);
}

void doctor_redis(struct doctor *d)
{
    struct error err = {0};
    struct kv *kv = ctl_open_kv(d->ctl, &err);

    if (kv) {
        doctor_tell(d, DOCTOR_OK, DOCTOR_REDIS_SERVER, NULL, "it answers");
        encryption(d, kv);
    }
    if (d->ctl->conf && d->ctl->conf->redis_mode == CONF_MODE_SENTINEL)
        doctor_sentinels(d, kv);
    if (!kv || !read_clock(d, kv, &err) || !read_info(d, kv, &err) || !run_script(d, kv, &err))
        doctor_failed(d, DOCTOR_REDIS_SERVER, &err);
    kv_close(&kv);
}
