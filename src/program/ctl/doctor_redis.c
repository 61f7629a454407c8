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

/* One server: the only one, or one of a cluster. */
struct look {
    struct doctor *d;
    struct kv *kv;
    size_t server;
    const char *subject; /* NULL where there is only one */
};

struct info {
    const struct look *at;
    char *text;
};

static struct kv_reply *ask(const struct look *look, const char *const words[3], struct error *err)
{
    struct slice argv[3];
    size_t count = 0;

    while (count < 3 && words[count]) {
        argv[count] = slice_of(words[count]);
        count++;
    }
    return kv_command_at(look->kv, look->server, argv, count, err);
}

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

static void version(const struct info *info)
{
    const struct look *look = info->at;
    char valkey[FIELD_MAX], redis[FIELD_MAX];

    if (field(info, "valkey_version", valkey)[0])
        doctor_tell(look->d, DOCTOR_OK, DOCTOR_REDIS_VERSION, look->subject, "Valkey %s", valkey);
    else
        doctor_tell(look->d, number(info, "redis_version") >= VERSION_LEAST ? DOCTOR_OK : DOCTOR_PROBLEM,
                    DOCTOR_REDIS_VERSION, look->subject, "Redis %s", field(info, "redis_version", redis));
}

static void role(const struct info *info)
{
    const struct look *look = info->at;
    char text[FIELD_MAX];
    bool clustered = number(info, "cluster_enabled");

    if (is(info, "role", "master"))
        doctor_tell(look->d, DOCTOR_OK, DOCTOR_REDIS_ROLE, look->subject,
                    "it is the primary, with %" PRId64 " replicas", number(info, "connected_slaves"));
    else
        doctor_tell(look->d, DOCTOR_PROBLEM, DOCTOR_REDIS_ROLE, look->subject,
                    "it is a replica (of %s), and takes no writes", field(info, "master_host", text));
    if (clustered && !look->subject)
        doctor_tell(look->d, DOCTOR_WARNING, DOCTOR_REDIS_CLUSTER, NULL,
                    "it is part of a cluster, of which orderd talks to this one node");
    else if (clustered && number(info, "connected_slaves") == 0)
        doctor_tell(look->d, DOCTOR_WARNING, DOCTOR_REDIS_CLUSTER, look->subject,
                    "it has no replica: its shards are lost with it");
}

/* Every key of a sale has a TTL, so the volatile policies evict it as well. Nothing is evicted while there is no
 * limit. */
static void eviction(const struct info *info)
{
    const struct look *look = info->at;
    char policy[FIELD_MAX];
    int64_t limit = number(info, "maxmemory"), used = number(info, "used_memory");

    field(info, "maxmemory_policy", policy);
    if (strcmp(policy, "noeviction") == 0)
        doctor_tell(look->d, DOCTOR_OK, DOCTOR_REDIS_EVICTION, look->subject, "nothing is evicted");
    else
        doctor_tell(look->d, limit ? DOCTOR_PROBLEM : DOCTOR_WARNING, DOCTOR_REDIS_EVICTION, look->subject,
                    "maxmemory-policy is %s: keys of a sale vanish when memory %s", policy,
                    limit ? "is full" : "gets a limit");
    if (limit)
        doctor_tell(look->d, used > limit / 10 * 8 ? DOCTOR_WARNING : DOCTOR_OK, DOCTOR_REDIS_MEMORY, look->subject,
                    "%" PRId64 " %% of maxmemory is used", used / (limit / 100 + 1));
}

/* Whether appendfsync is "no"; false also where the account may not ask. */
static bool never_flushed(const struct look *look)
{
    struct error ignored;
    struct kv_reply *reply = ask(look, (const char *const[3]){"CONFIG", "GET", "appendfsync"}, &ignored);
    bool never = reply && kv_reply_count(reply) == 2 && slice_is(kv_reply_text(kv_reply_at(reply, 1)), "no");

    kv_reply_free(&reply);
    return never;
}

static void persistence(const struct info *info)
{
    const struct look *look = info->at;
    bool aof = number(info, "aof_enabled");
    enum doctor_verdict verdict = DOCTOR_OK;
    const char *found = "the append-only file is on";

    if (aof && !is(info, "aof_last_write_status", "ok"))
        verdict = DOCTOR_PROBLEM, found = "its last write to the append-only file failed";
    else if (!is(info, "rdb_last_bgsave_status", "ok"))
        verdict = DOCTOR_PROBLEM, found = "its last snapshot failed";
    else if (aof && never_flushed(look))
        verdict = DOCTOR_WARNING,
        found = "appendfsync is no: after a crash of its machine a running sale has to be rebuilt from MySQL";
    else if (!aof)
        verdict = DOCTOR_WARNING,
        found = "the append-only file is off: after a crash a running sale has to be rebuilt from MySQL";
    doctor_tell(look->d, verdict, DOCTOR_REDIS_PERSISTENCE, look->subject, "%s", found);
}

static void judge(const struct info *info)
{
    version(info);
    role(info);
    eviction(info);
    persistence(info);
}

static bool read_info(const struct look *look, struct error *err)
{
    struct kv_reply *reply = ask(look, (const char *const[3]){"INFO"}, err);
    struct strbuf text = STRBUF_INIT;

    if (!reply)
        return false;
    strbuf_add_slice(&text, kv_reply_text(reply));
    judge(&(struct info){look, text.data});
    strbuf_release(&text);
    kv_reply_free(&reply);
    return true;
}

static bool read_clock(const struct look *look, struct error *err)
{
    struct doctor *d = look->d;
    int64_t asked = clock_wall_ms(), answered;
    struct kv_reply *reply = ask(look, (const char *const[3]){"TIME"}, err);

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
    doctor_tell_clock(d, DOCTOR_REDIS_CLOCK, look->subject, &d->redis);
    kv_reply_free(&reply);
    return true;
}

static bool run_script(const struct look *look, struct error *err)
{
    struct kv_reply *reply = ask(look, (const char *const[3]){"EVAL", "return 1", "0"}, err);

    if (!reply && error_class_of(err) == ERROR_CLASS_OUTAGE)
        return false;
    if (reply)
        doctor_tell(look->d, DOCTOR_OK, DOCTOR_REDIS_SCRIPT, look->subject, "the account may run scripts");
    else
        doctor_tell(look->d, DOCTOR_PROBLEM, DOCTOR_REDIS_SCRIPT, look->subject, "%s", err->text);
    kv_reply_free(&reply);
    return true;
}

/* "host:port" of whichever server this is. */
static bool is_here(const char *name)
{
    char host[300];

    snprintf(host, sizeof host, "%.*s", (int)(strrchr(name, ':') - name), name);
    return doctor_is_here(host);
}

static void encryption(const struct look *look)
{
    struct doctor_tls tls = {
        .subject = look->subject, .verified = true, .here = is_here(kv_server_name(look->kv, look->server))};

    tls.by = kv_encrypted_by(look->kv, look->server, &tls.until_s);
    doctor_tell_tls(look->d, DOCTOR_REDIS_TLS, &tls);
}

/* A server of a cluster is connected only when it is asked something. */
static bool answers(const struct look *look, struct error *err)
{
    struct kv_reply *reply = ask(look, (const char *const[3]){"TIME"}, err);

    if (!reply)
        return false;
    kv_reply_free(&reply);
    doctor_tell(look->d, DOCTOR_OK, DOCTOR_REDIS_SERVER, look->subject, "it answers");
    encryption(look);
    return true;
}

static void look_at(const struct look *look)
{
    struct error err = {0};

    if (!answers(look, &err) || !read_clock(look, &err) || !read_info(look, &err) || !run_script(look, &err))
        doctor_failed(look->d, DOCTOR_REDIS_SERVER, look->subject, &err);
}

static void look_at_each(struct doctor *d, struct kv *kv)
{
    bool cluster = d->ctl->conf->redis_mode == CONF_MODE_CLUSTER;
    unsigned others = d->away;

    for (size_t i = 0; i < kv_server_count(kv); i++) {
        char subject[300];

        if (!kv_server_name(kv, i))
            continue;
        snprintf(subject, sizeof subject, "%s", kv_server_name(kv, i));
        look_at(&(struct look){d, kv, i, cluster ? subject : NULL});
    }
    if (d->away > others) /* of MySQL, RabbitMQ and Redis, this is one */
        d->away = others + 1;
}

void doctor_redis(struct doctor *d)
{
    struct error err = {0};
    struct kv *kv = ctl_open_kv(d->ctl, &err);

    if (d->ctl->conf && d->ctl->conf->redis_mode == CONF_MODE_SENTINEL)
        doctor_sentinels(d, kv);
    if (kv && d->ctl->conf->redis_mode == CONF_MODE_CLUSTER)
        doctor_cluster(d, kv);
    if (kv)
        look_at_each(d, kv);
    else
        doctor_failed(d, DOCTOR_REDIS_SERVER, NULL, &err);
    kv_close(&kv);
}
