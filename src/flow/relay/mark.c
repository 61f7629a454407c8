/* Writes down what came of a batch: one statement for all rows with the same result, since in an outage that is all of
 * them. The marks are fenced, so they can be repeated. Where the database cannot be had, the rows are left to their
 * lease: they are sent again after it. */
#include "relay_private.h"

#include <string.h>

#include "orderd/clock.h"
#include "orderd/log.h"

/* How often a mark is tried again, with a new connection where the old one is lost. */
#define TRIES    3
#define PAUSE_MS 20

static bool alike(const struct sending *a, const struct sending *b)
{
    return a->result == b->result && a->wait_ms == b->wait_ms && strcmp(a->message->owner, b->message->owner) == 0 &&
           (a->why == b->why || (a->why && b->why && strcmp(a->why, b->why) == 0));
}

static void count_lost(struct relay *relay, size_t rows)
{
    if (rows == 0)
        return;
    metric_add(relay->metrics, METRIC_RELAY_LEASES_LOST, rows);
    log_event(LOG_EVENT_RELAY_LEASE_LOST, LOG_INT("rows", rows));
}

static bool write_list(struct relay *relay, const struct local_messages *list, const struct sending *like,
                       struct error *err)
{
    size_t written = 0;

    for (int i = 0; i < TRIES; i++) {
        relay_beats(relay);
        if (relay_open_db(relay) &&
            local_message_settle(relay->db, list, like->result, like->wait_ms, like->why, &written, err)) {
            count_lost(relay, i == 0 ? list->count - written : 0); /* a repeated mark finds what it did before */
            return true;
        }
        if (relay->db && db_usable(relay->db))
            db_rollback(relay->db);
        relay->db_target.next_try = 0;
        clock_sleep_ms(PAUSE_MS);
    }
    return false;
}

static void collect(struct sending *all, size_t count, size_t first, struct local_messages *list)
{
    local_messages_init(list);
    for (size_t i = first; i < count; i++) {
        if (all[i].marked || (i > first && !alike(&all[first], &all[i])))
            continue;
        all[i].marked = true;
        local_messages_push(list, all[i].message);
    }
}

static void tell(struct relay *relay, const struct sending *s)
{
    enum log_event event = s->result == LOCAL_MESSAGE_QUARANTINE ? LOG_EVENT_RELAY_QUARANTINED
                           : s->result == LOCAL_MESSAGE_AGAIN    ? LOG_EVENT_RELAY_FAILED
                                                                 : LOG_EVENT_RELAY_WAITING;

    if (s->result == LOCAL_MESSAGE_QUARANTINE)
        metric_add(relay->metrics, METRIC_RELAY_QUARANTINED, 1);
    if (s->result != LOCAL_MESSAGE_SENT)
        log_event(event, LOG_SLICE("message_key", s->message->key), LOG_SLICE("topic", s->message->topic),
                  LOG_INT("attempts", s->message->attempts), LOG_STR("why", s->why ? s->why : ""));
}

size_t relay_mark(struct relay *relay, struct sending *all, size_t count)
{
    size_t sent = 0;
    bool reachable = true;

    for (size_t i = 0; i < count; i++) {
        sent += all[i].result == LOCAL_MESSAGE_SENT;
        tell(relay, &all[i]);
    }
    metric_add(relay->metrics, METRIC_RELAY_SENT, sent);
    for (size_t i = 0; i < count; i++) {
        struct local_messages list;
        struct error err = {0};

        if (all[i].marked)
            continue;
        collect(all, count, i, &list);
        if (reachable && !write_list(relay, &list, &all[i], &err)) {
            reachable = false; /* nor for the others, whose turn would only take as long */
            log_event(LOG_EVENT_DB_DOWN, LOG_INT("rows", list.count), LOG_ERR(&err));
        }
        local_messages_free(&list);
    }
    return sent;
}
