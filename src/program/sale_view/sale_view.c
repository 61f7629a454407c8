/* The document of GET /sale. */
#include "orderd/sale_view.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "orderd/check.h"

static void take_replica(const json_t *object, void *element)
{
    *(struct sale_replica *)element = (struct sale_replica){
        .instance = field_text(object, "instance"),
        .host = field_text(object, "host"),
        .version = field_text(object, "version"),
        .state = field_text(object, "state"),
        .why = field_text(object, "why"),
        .admin = field_text(object, "admin"),
        .pid = field_count(object, "pid"),
        .started_at = field_count(object, "started_at"),
        .seen_at = field_count(object, "seen_at"),
    };
}

static void take_queue(const json_t *object, void *element)
{
    *(struct sale_queue *)element = (struct sale_queue){
        .name = field_text(object, "name"),
        .ready = field_count(object, "ready"),
        .consumers = field_count(object, "consumers"),
    };
}

/* Somebody will type it into a shell. */
static bool may_be_typed(const char *command)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.:=";

    return strncmp(command, "orderctl ", 9) == 0 && command[strspn(command, plain)] == '\0';
}

static void take_reason(const json_t *object, void *element)
{
    const char *command = field_text(object, "command");

    *(struct sale_reason *)element = (struct sale_reason){
        .reason = field_text(object, "reason"),
        .command = may_be_typed(command) ? command : "",
        .open = field_count(object, "open"),
    };
}

static void take_dependency(const json_t *object, void *element)
{
    const json_t *up = json_object_get(object, "up");

    *(struct sale_dependency *)element = (struct sale_dependency){
        .name = field_text(object, "name"),
        .why = field_text(object, "why"),
        .known = json_is_boolean(up),
        .up = json_is_true(up),
    };
}

static void take_books(const json_t *books, struct sale_activity *a)
{
    a->books.left = field_count(books, "left");
    a->books.held = field_count(books, "held");
    a->books.sold = field_count(books, "sold");
    a->books.gone = field_count(books, "gone");
    a->books.redis_off = field_number(books, "redis_off");
    a->books.mysql_available = field_count(books, "mysql_available");
    a->books.mysql_live = field_count(books, "mysql_live");
    a->books.mysql_off = field_number(books, "mysql_off");
    a->books.in_flight = field_count(books, "in_flight");
    a->books.drift = field_number(books, "drift");
}

static void take_activity(const json_t *object, void *element)
{
    const json_t *shards = json_object_get(object, "shards"), *reconcile = json_object_get(object, "reconcile");
    struct sale_activity *a = element;

    *a = (struct sale_activity){
        .id = field_count(object, "id"),
        .title = field_text(object, "title"),
        .state = field_text(object, "state"),
        .starts_at = field_count(object, "starts_at"),
        .ends_at = field_count(object, "ends_at"),
        .total = field_count(object, "total"),
        .left = field_count(object, "left"),
        .rate = field_real(object, "rate"),
        .sold_out_s = field_real(object, "sold_out_s"),
        .held_unpaid = field_count(object, "held_unpaid"),
        .due_soon = field_count(object, "due_soon"),
        .overdue = field_count(object, "overdue"),
        .paid = field_count(object, "paid"),
        .closed = field_count(object, "closed"),
        .counted_at = field_count(object, "counted_at"),
        .shards = field_count(shards, "count"),
        .shards_missing = field_count(shards, "missing"),
        .shards_damaged = field_count(shards, "damaged"),
        .shards_paused = field_count(shards, "paused"),
        .reconciled_at = field_count(reconcile, "at"),
        .verdict = field_text(reconcile, "verdict"),
    };
    take_books(json_object_get(object, "conservation"), a);
}

/* ---- in which order activities are shown ---- */

static int rank_of(const struct sale_activity *a)
{
    static const char *const order[] = {"running", "scheduled", "ended"};
    int rank = 0;

    while (rank < 3 && strcmp(a->state, order[rank]) != 0)
        rank++;
    return rank;
}

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* By what does not change from second to second: a line must not jump away under the eye. */
static int compare_activities(const void *left, const void *right)
{
    const struct sale_activity *a = left, *b = right;
    int rank = rank_of(a), by = compare(rank, rank_of(b));

    if (by == 0 && rank == 0)
        by = compare(a->ends_at, b->ends_at);
    if (by == 0 && rank == 1)
        by = compare(a->starts_at, b->starts_at);
    if (by == 0 && rank == 2)
        by = compare(b->ends_at, a->ends_at); /* what ended last is closest to what is done now */
    return by ? by : compare(a->id, b->id);
}

/* ---- the whole ---- */

static void take_rates(const json_t *rates, struct sale_rates *r)
{
    *r = (struct sale_rates){
        .received = field_real(rates, "received"),
        .created = field_real(rates, "created"),
        .duplicate = field_real(rates, "duplicate"),
        .retried = field_real(rates, "retried"),
        .dead_lettered = field_real(rates, "dead_lettered"),
        .rejected = field_real(rates, "rejected"),
        .paid = field_real(rates, "paid"),
        .closed = field_real(rates, "closed"),
        .units_returned = field_real(rates, "units_returned"),
    };
}

static void take_lists(const json_t *root, struct sale_view *v)
{
    const json_t *dead = json_object_get(root, "dead_letters");

    v->replicas = field_list(root, "replicas", sizeof *v->replicas, take_replica, &v->replica_count);
    v->queues = field_list(root, "queues", sizeof *v->queues, take_queue, &v->queue_count);
    v->reasons = field_list(dead, "by_reason", sizeof *v->reasons, take_reason, &v->reason_count);
    v->activities = field_list(root, "activities", sizeof *v->activities, take_activity, &v->activity_count);
    v->dependencies = field_list(root, "dependencies", sizeof *v->dependencies, take_dependency, &v->dependency_count);
    if (v->activity_count)
        qsort(v->activities, v->activity_count, sizeof *v->activities, compare_activities);
}

static struct sale_view *take_apart(json_t *root)
{
    const json_t *latency = json_object_get(root, "latency"), *backlog = json_object_get(root, "backlog");
    const json_t *relay = json_object_get(root, "relay"), *dead = json_object_get(root, "dead_letters");
    struct sale_view *v = check_calloc(1, sizeof *v);

    v->document = root;
    v->at = field_count(root, "at");
    v->replicas_at = field_count(root, "replicas_at");
    v->activities_left_out = field_count(root, "activities_left_out");
    v->interval_ms = field_count(root, "interval_ms");
    v->instance = field_text(root, "instance");
    v->p50_us = field_count(latency, "p50_us");
    v->p99_us = field_count(latency, "p99_us");
    v->backlog = field_count(backlog, "messages");
    v->drain_s = field_real(backlog, "drain_s");
    v->relay_pending = field_count(relay, "pending");
    v->relay_quarantined = field_count(relay, "quarantined");
    v->relay_oldest_ms = field_count(relay, "oldest_ms");
    v->dead_queue = field_count(dead, "queue");
    v->dead_open = field_count(dead, "open");
    take_rates(json_object_get(root, "rates"), &v->rates);
    take_lists(root, v);
    return v;
}

struct sale_view *sale_view_parse(const char *text, size_t len, struct error *err)
{
    json_t *root = json_loadb(text, len, JSON_ALLOW_NUL, NULL);

    if (!root) {
        error_set(err, ERROR_ADMIN_AWAY, "the answer to /sale is no JSON");
        return NULL;
    }
    if (field_number(root, "v") == 1 && json_is_array(json_object_get(root, "activities")))
        return take_apart(root);
    error_set(err, ERROR_ADMIN_AWAY,
              "the answer to /sale is in another form than this orderctl " ORDERD_VERSION " knows");
    json_decref(root);
    return NULL;
}

void sale_view_destroy(struct sale_view **view)
{
    struct sale_view *v = *view;

    *view = NULL;
    if (!v)
        return;
    free(v->replicas);
    free(v->queues);
    free(v->reasons);
    free(v->activities);
    free(v->dependencies);
    json_decref(v->document);
    free(v);
}

const struct sale_activity *sale_view_activity(const struct sale_view *v, int64_t id)
{
    for (size_t i = 0; i < v->activity_count; i++) {
        if (v->activities[i].id == id)
            return &v->activities[i];
    }
    return NULL;
}
