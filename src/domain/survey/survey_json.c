/* The survey as JSON, and back: what is known of each member is one row of a table here, so that both directions agree.
 */
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/json_put.h"
#include "orderd/survey.h"

enum type { NUMBER, REAL };

struct field {
    const char *inside, *name; /* the object it lies in, "" for the outer one; its name there */
    enum type type;
    size_t offset;
};

#define N(inside, name, member)                                                                                        \
    {                                                                                                                  \
        inside, name, NUMBER, offsetof(struct OF, member)                                                              \
    }
#define R(inside, name, member)                                                                                        \
    {                                                                                                                  \
        inside, name, REAL, offsetof(struct OF, member)                                                                \
    }

#define OF survey
static const struct field sale_fields[] = {
    N("", "at", at),
    N("", "interval_ms", interval_ms),
    N("", "replicas_at", replicas_at),
    N("latency", "p50_us", p50_us),
    N("latency", "p99_us", p99_us),
    N("backlog", "messages", backlog),
    R("backlog", "drain_s", drain_s),
    N("relay", "pending", relay_pending),
    N("relay", "quarantined", relay_quarantined),
    N("relay", "oldest_ms", relay_oldest_ms),
    N("dead_letters", "queue", dead_queue),
    N("dead_letters", "open", dead_open),
    N("", "activities_left_out", activities_left_out),
};
#undef OF

#define OF survey_activity
static const struct field activity_fields[] = {
    N("", "id", id),
    N("", "starts_at", starts_at),
    N("", "ends_at", ends_at),
    N("", "total", total),
    N("", "left", left),
    R("", "rate", rate),
    R("", "sold_out_s", sold_out_s),
    N("", "held_unpaid", held_unpaid),
    N("", "due_soon", due_soon),
    N("", "overdue", overdue),
    N("", "paid", paid),
    N("", "closed", closed),
    N("", "counted_at", counted_at),
    N("shards", "count", shard_count),
    N("shards", "missing", shard_missing),
    N("shards", "damaged", shard_damaged),
    N("shards", "paused", shard_paused),
    N("shards", "empty", shard_empty),
    N("shards", "left_least", shard_left_least),
    N("shards", "left_most", shard_left_most),
    N("conservation", "left", left),
    N("conservation", "held", held),
    N("conservation", "sold", sold),
    N("conservation", "gone", gone),
    N("conservation", "redis_off", redis_off),
    N("conservation", "mysql_available", available),
    N("conservation", "mysql_live", live),
    N("conservation", "mysql_off", mysql_off),
    N("conservation", "in_flight", in_flight),
    N("conservation", "drift", drift),
    N("reconcile", "at", reconcile_at),
};
#undef OF

#define OF survey_queue
static const struct field queue_fields[] = {
    N("", "ready", ready),
    N("", "consumers", consumers),
};
#undef OF

#define OF replica
static const struct field replica_fields[] = {
    N("", "pid", pid),
    N("", "started_at", started_at),
    N("", "seen_at", seen_at),
};
#undef OF

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- writing ---- */

static json_t *number_of(int64_t n)
{
    return n == SURVEY_UNKNOWN ? json_null() : json_integer(n);
}

/* Three digits after the point say enough. */
static json_t *real_of(double x)
{
    return isfinite(x) ? json_real(round(x * 1000) / 1000) : json_null();
}

/* The object of that name in it, made where it is missing; itself for "". */
static json_t *inner(json_t *object, const char *name)
{
    json_t *found = *name ? json_object_get(object, name) : object;

    if (!found) {
        json_put(object, name, json_object());
        found = json_object_get(object, name);
    }
    return found;
}

static void write_fields(json_t *object, const struct field *fields, size_t count, const void *from)
{
    for (size_t i = 0; i < count; i++) {
        const char *at = (const char *)from + fields[i].offset;
        int64_t number = SURVEY_UNKNOWN;
        double real = NAN;

        if (fields[i].type == NUMBER)
            memcpy(&number, at, sizeof number);
        else
            memcpy(&real, at, sizeof real);
        json_put(inner(object, fields[i].inside), fields[i].name,
                 fields[i].type == NUMBER ? number_of(number) : real_of(real));
    }
}

static json_t *replica_of(const struct replica *r)
{
    json_t *object = json_object();

    json_put(object, "instance", json_text(r->instance));
    json_put(object, "host", json_text(r->host));
    json_put(object, "version", json_text(r->version));
    json_put(object, "state", json_string(replica_state_name(r->state)));
    json_put(object, "why", json_text(r->why));
    json_put(object, "admin", json_text(r->admin));
    write_fields(object, replica_fields, COUNT(replica_fields), r);
    return object;
}

static json_t *rates_of(const struct survey *s)
{
    json_t *object = json_object();

    for (int i = 0; i < REPLICA_COUNT_COUNT; i++)
        json_put(object, replica_count_name((enum replica_count)i),
                 isfinite(s->rates[i]) ? json_integer(llround(s->rates[i])) : json_null());
    return object;
}

static json_t *queue_of(const struct survey_queue *q)
{
    json_t *object = json_object();

    json_put(object, "name", json_text(q->name));
    write_fields(object, queue_fields, COUNT(queue_fields), q);
    return object;
}

/* As one word for a shell: a reason may have come with a foreign message, and the command is there to be copied. */
static void add_word(struct strbuf *out, const char *text)
{
    if (*text && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] == '\0') {
        strbuf_add_str(out, text);
        return;
    }
    strbuf_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            strbuf_add_str(out, "'\\''");
        else
            strbuf_add_char(out, *text);
    }
    strbuf_add_char(out, '\'');
}

static json_t *reason_of(const struct survey_reason *r)
{
    json_t *object = json_object();
    struct strbuf command = STRBUF_INIT;

    strbuf_add_str(&command, "orderctl dlq list --state open --reason ");
    add_word(&command, r->reason);
    json_put(object, "reason", json_text(r->reason));
    json_put(object, "open", json_integer(r->open));
    json_put(object, "command", json_text(command.data));
    strbuf_release(&command);
    return object;
}

static json_t *activity_of(const struct survey_activity *a)
{
    json_t *object = json_object();

    json_put(object, "title", json_text(a->title));
    json_put(object, "state", json_string(activity_state_name(a->state)));
    write_fields(object, activity_fields, COUNT(activity_fields), a);
    json_put(inner(object, "reconcile"), "verdict",
             a->reconcile_verdict < 0 ? json_null()
                                      : json_string(balance_verdict_name((enum balance_verdict)a->reconcile_verdict)));
    return object;
}

static json_t *dependencies_of(const struct survey *s)
{
    json_t *list = json_array();

    for (int i = 0; i < SURVEY_DEPENDENCY_COUNT; i++) {
        json_t *object = json_object();

        json_put(object, "name", json_string(survey_dependency_name((enum survey_dependency)i)));
        json_put(object, "up", s->dependencies[i].known ? json_boolean(s->dependencies[i].up) : json_null());
        json_put(object, "why", json_text(s->dependencies[i].why));
        json_put_last(list, object);
    }
    return list;
}

static void add_lists(json_t *object, const struct survey *s)
{
    json_t *replicas = json_array(), *queues = json_array(), *reasons = json_array(), *activities = json_array();

    for (size_t i = 0; i < s->replica_count; i++)
        json_put_last(replicas, replica_of(&s->replicas[i]));
    for (size_t i = 0; i < s->queue_count; i++)
        json_put_last(queues, queue_of(&s->queues[i]));
    for (size_t i = 0; i < s->reason_count; i++)
        json_put_last(reasons, reason_of(&s->reasons[i]));
    for (size_t i = 0; i < s->activity_count; i++)
        json_put_last(activities, activity_of(&s->activities[i]));
    json_put(object, "replicas", replicas);
    json_put(object, "queues", queues);
    json_put(inner(object, "dead_letters"), "by_reason", reasons);
    json_put(object, "activities", activities);
}

void survey_json(const struct survey *s, const char *instance, struct strbuf *out)
{
    json_t *object = json_object();
    char *text;

    json_put(object, "v", json_integer(1));
    json_put(object, "instance", json_text(instance));
    write_fields(object, sale_fields, COUNT(sale_fields), s);
    json_put(object, "rates", rates_of(s));
    add_lists(object, s);
    json_put(object, "dependencies", dependencies_of(s));
    text = json_dumps(object, JSON_COMPACT);
    CHECK(text != NULL);
    strbuf_add_str(out, text);
    strbuf_add_char(out, '\n');
    free(text);
    json_decref(object);
}

/* ---- reading ---- */

static int64_t number_in(const json_t *value)
{
    return json_is_integer(value) ? json_integer_value(value) : SURVEY_UNKNOWN;
}

static void read_fields(const json_t *object, const struct field *fields, size_t count, void *to)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *in = *fields[i].inside ? json_object_get(object, fields[i].inside) : object;
        const json_t *value = json_object_get(in, fields[i].name);
        char *at = (char *)to + fields[i].offset;
        int64_t number = number_in(value);
        double real = json_is_number(value) ? json_number_value(value) : NAN;

        if (fields[i].type == NUMBER)
            memcpy(at, &number, sizeof number);
        else
            memcpy(at, &real, sizeof real);
    }
}

/* Cut where it is longer, but never within a character. */
static void read_text(const json_t *object, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));
    size_t len = text ? strlen(text) : 0;

    if (len >= size)
        len = size - 1;
    while (text && text[len] && len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
        len--;
    memcpy(out, text ? text : "", len);
    out[len] = '\0';
}

static struct slice word_in(const json_t *object, const char *name)
{
    return slice_of(json_string_value(json_object_get(object, name)));
}

static void read_replica(const json_t *object, struct replica *r)
{
    memset(r, 0, sizeof *r);
    read_text(object, "instance", r->instance, sizeof r->instance);
    read_text(object, "host", r->host, sizeof r->host);
    read_text(object, "version", r->version, sizeof r->version);
    read_text(object, "why", r->why, sizeof r->why);
    read_text(object, "admin", r->admin, sizeof r->admin);
    r->state = REPLICA_NOT_READY;
    (void)replica_state_of_name(word_in(object, "state"), &r->state);
    read_fields(object, replica_fields, COUNT(replica_fields), r);
}

static int verdict_in(const json_t *object)
{
    struct slice name = word_in(json_object_get(object, "reconcile"), "verdict");

    for (int i = BALANCE_CLEAN; i <= BALANCE_BROKEN; i++) {
        if (slice_is(name, balance_verdict_name((enum balance_verdict)i)))
            return i;
    }
    return -1;
}

/* false: in a state that only a later version knows. */
static bool read_activity(const json_t *object, struct survey_activity *a)
{
    memset(a, 0, sizeof *a);
    read_text(object, "title", a->title, sizeof a->title);
    read_fields(object, activity_fields, COUNT(activity_fields), a);
    a->reconcile_verdict = verdict_in(object);
    return activity_state_of_name(word_in(object, "state"), &a->state);
}

static void read_lists(const json_t *object, struct survey *s)
{
    const json_t *list = json_object_get(object, "replicas"), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (s->replica_count < SURVEY_REPLICAS_MAX)
            read_replica(item, &s->replicas[s->replica_count++]);
    }
    list = json_object_get(object, "queues");
    json_array_foreach(list, i, item)
    {
        if (s->queue_count == SURVEY_QUEUES_MAX)
            break;
        read_text(item, "name", s->queues[s->queue_count].name, sizeof s->queues->name);
        read_fields(item, queue_fields, COUNT(queue_fields), &s->queues[s->queue_count++]);
    }
    list = json_object_get(json_object_get(object, "dead_letters"), "by_reason");
    json_array_foreach(list, i, item)
    {
        if (s->reason_count == SURVEY_REASONS_MAX)
            break;
        read_text(item, "reason", s->reasons[s->reason_count].reason, sizeof s->reasons->reason);
        s->reasons[s->reason_count++].open = number_in(json_object_get(item, "open"));
    }
    list = json_object_get(object, "activities");
    json_array_foreach(list, i, item)
    {
        if (s->activity_count < SURVEY_ACTIVITIES_MAX && read_activity(item, &s->activities[s->activity_count]))
            s->activity_count++;
    }
}

static void read_dependencies(const json_t *list, struct survey *s)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        for (int d = 0; d < SURVEY_DEPENDENCY_COUNT; d++) {
            if (!slice_is(word_in(item, "name"), survey_dependency_name((enum survey_dependency)d)))
                continue;
            s->dependencies[d].known = json_is_boolean(json_object_get(item, "up"));
            s->dependencies[d].up = json_is_true(json_object_get(item, "up"));
            read_text(item, "why", s->dependencies[d].why, sizeof s->dependencies[d].why);
        }
    }
}

bool survey_parse(struct slice json, struct survey *out)
{
    json_t *object = json_loadb(json.ptr ? json.ptr : "", json.len, 0, NULL);
    const json_t *rates = json_object_get(object, "rates");
    bool ok = json_integer_value(json_object_get(object, "v")) == 1;

    survey_init(out);
    if (ok) {
        read_fields(object, sale_fields, COUNT(sale_fields), out);
        for (int i = 0; i < REPLICA_COUNT_COUNT; i++) {
            const json_t *rate = json_object_get(rates, replica_count_name((enum replica_count)i));

            out->rates[i] = json_is_number(rate) ? json_number_value(rate) : NAN;
        }
        read_lists(object, out);
        read_dependencies(json_object_get(object, "dependencies"), out);
        if (out->at == SURVEY_UNKNOWN)
            out->at = 0;
    }
    json_decref(object);
    return ok;
}
