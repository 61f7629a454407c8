#include "relay_private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/fault.h"
#include "orderd/log.h"

/* Messages handed over and not yet taken, at most; the rest is left to the poll. */
#define HANDED_MAX       20000
#define HANDED_BYTES_MAX ((size_t)8 * 1024 * 1024)
#define IDLE_MS          1000
/* After a search that failed: a deadlock or a table that is missing. */
#define SEARCH_AGAIN_MS 200

/* ---- what the other files use ---- */

void relay_settle(struct sending *s, enum local_message_result result, int64_t wait_ms, const char *why)
{
    s->settled = true;
    s->result = result;
    s->wait_ms = wait_ms;
    s->why = why;
}

const char *relay_text(struct relay *relay, const char *text)
{
    return arena_strndup(relay->arena, text, strlen(text));
}

void relay_wait_for(struct relay *relay, struct sending *s, const struct target *target, const char *why)
{
    int64_t left = target->next_try - clock_mono_ms();

    relay->waiting = true;
    /* In steps, so that one statement marks many rows. */
    relay_settle(s, LOCAL_MESSAGE_WAIT, (left > 0 ? left / RELAY_AWAY_MS : 0) * RELAY_AWAY_MS + RELAY_AWAY_MS, why);
}

static int64_t own_backoff(const struct conf *conf, int attempts)
{
    int64_t wait = conf->relay_retry_min;

    for (int i = 1; i < attempts && wait < conf->relay_retry_max; i++)
        wait *= 2;
    return wait < conf->relay_retry_max ? wait : conf->relay_retry_max;
}

void relay_failed(struct relay *relay, struct sending *s, const char *why)
{
    bool last = s->message->attempts >= relay->conf->relay_attempts_max;

    metric_add(relay->metrics, METRIC_RELAY_RETRIED, 1);
    relay_settle(s, last ? LOCAL_MESSAGE_QUARANTINE : LOCAL_MESSAGE_AGAIN,
                 last ? 0 : own_backoff(relay->conf, s->message->attempts), why);
}

/* What is begun after half its lease may end after all of it, when somebody else has begun as well. */
bool relay_late(struct relay *relay, struct sending *s)
{
    if (clock_mono_ms() - s->message->leased_at < relay->conf->relay_lease / 2)
        return false;
    relay_settle(s, LOCAL_MESSAGE_WAIT, 0, "it waited too long for its turn");
    return true;
}

void relay_beats(struct relay *relay)
{
    atomic_store_explicit(&relay->beat, clock_mono_ms(), memory_order_relaxed);
}

bool target_may_try(const struct target *target)
{
    return clock_mono_ms() >= target->next_try;
}

void target_failed(struct target *target, const struct error *why)
{
    target->next_try = clock_mono_ms() + backoff_next(&target->backoff);
    target->away = true;
    snprintf(target->why, sizeof target->why, "%s", why->text);
}

void target_reached(struct target *target)
{
    backoff_reset(&target->backoff);
    target->next_try = 0;
    target->away = false;
}

static bool stopping(const struct relay *relay)
{
    return atomic_load_explicit(&relay->stop, memory_order_acquire);
}

bool relay_open_db(struct relay *relay)
{
    struct error err = {0};

    if (relay->db && !db_usable(relay->db))
        db_close(&relay->db);
    if (relay->db || !target_may_try(&relay->db_target))
        return relay->db != NULL;
    relay->db = db_open(relay->conf, &err);
    if (relay->db) {
        target_reached(&relay->db_target);
    } else {
        target_failed(&relay->db_target, &err);
        log_event(LOG_EVENT_DB_DOWN, LOG_ERR(&err));
    }
    return relay->db != NULL;
}

/* ---- one round ---- */

static size_t bytes_of(const struct local_message *m)
{
    return sizeof *m + m->key.len + m->topic.len + m->payload.len + m->headers.len;
}

/* As many as go into one batch. */
static void take_handed(struct relay *relay, struct local_messages *list)
{
    CHECK_ZERO(pthread_mutex_lock(&relay->lock));
    while (relay->handed.count > 0 && list->count < (size_t)relay->conf->relay_batch_max) {
        struct local_message *m = local_messages_pop(&relay->handed);

        relay->handed_bytes -= bytes_of(m);
        local_messages_push(list, m);
    }
    CHECK_ZERO(pthread_mutex_unlock(&relay->lock));
}

static bool claim(struct relay *relay, struct local_messages *list, bool *more, struct error *err)
{
    char owner[LOCAL_MESSAGE_OWNER_MAX + 1];
    size_t before = list->count;

    snprintf(owner, sizeof owner, "%s.%u", relay->owner, ++relay->claims);
    if (!local_message_claim(relay->db, owner, relay->conf->relay_lease, (size_t)relay->conf->relay_batch_max, list,
                             more, err))
        return false;
    if (list->count > before)
        FAULT(RELAY_AFTER_CLAIM);
    return true;
}

/* Due rows, when it is time for a search. */
static bool search(struct relay *relay, struct local_messages *list, bool *more, struct error *err)
{
    int64_t age;

    *more = false;
    if (clock_mono_ms() < relay->next_poll || stopping(relay))
        return true;
    if (!local_message_oldest(relay->db, &age, err))
        return false;
    atomic_store_explicit(&relay->oldest_ms, age, memory_order_relaxed);
    relay->next_poll = clock_mono_ms() + relay->conf->relay_poll_interval;
    return claim(relay, list, more, err);
}

/* What is taken over and over without ever coming to a result: it may be what ends the process. */
static bool seems_deadly(const struct relay *relay, const struct local_message *m)
{
    return m->attempts > relay->conf->relay_attempts_max;
}

/* Takes the messages out of the list. */
static void prepare(struct relay *relay, struct local_messages *list, struct sending *all)
{
    struct local_message *m;

    for (struct sending *s = all; (m = local_messages_pop(list)); s++) {
        *s = (struct sending){.message = m, .kind = effect_of_topic(m->topic)};
        if (s->kind == EFFECT_UNKNOWN)
            relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0, "no effect is known for this topic");
        else if (seems_deadly(relay, m))
            relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0,
                         "every attempt ended without a result: it may be what ends the process");
    }
}

/* Answers how many were sent. */
static size_t send_all(struct relay *relay, struct local_messages *list)
{
    size_t count = list->count, sent;
    struct sending *all = arena_alloc(relay->arena, count * sizeof *all);

    prepare(relay, list, all);
    relay_stock(relay, all, count);
    relay_publish(relay, all, count);
    FAULT(RELAY_AFTER_SEND);
    sent = relay_mark(relay, all, count);
    FAULT(RELAY_AFTER_MARK);
    return sent;
}

/* Sleeps until something is handed over, the broker has something to say, or the next search is due. */
static void sleep_until_work(struct relay *relay)
{
    struct pollfd fds[2] = {{.fd = relay->wake_fd, .events = POLLIN}};
    int64_t wait = (relay->db ? relay->next_poll : relay->db_target.next_try) - clock_mono_ms();
    uint64_t ignored;

    if (relay->publisher)
        fds[1] = (struct pollfd){.fd = broker_fd(relay->publisher), .events = POLLIN};
    wait = wait > IDLE_MS ? IDLE_MS : wait;
    if (wait > 0)
        (void)poll(fds, relay->publisher ? 2 : 1, (int)wait);
    while (read(relay->wake_fd, &ignored, sizeof ignored) > 0)
        ;
}

/* true: there was something to do. */
static bool turn(struct relay *relay)
{
    struct local_messages list;
    struct error err = {0};
    size_t count, sent;
    bool more;

    relay->conf = atomic_load_explicit(&relay->shared->conf, memory_order_acquire);
    relay_beats(relay);
    arena_reset(relay->arena);
    relay->waiting = false;
    relay_pump(relay);
    (void)relay_open_db(relay);
    if (!stopping(relay))
        relay_watch(relay);
    if (!relay->db)
        return false;
    local_messages_init(&list);
    take_handed(relay, &list);
    if (!search(relay, &list, &more, &err)) {
        db_rollback(relay->db);
        relay->next_poll = clock_mono_ms() + SEARCH_AGAIN_MS;
        log_event(LOG_EVENT_DB_DOWN, LOG_ERR(&err));
    }
    count = list.count;
    sent = count > 0 ? send_all(relay, &list) : 0;
    /* At once again as long as more is due; but while all of it only waits for a server, at the pace of the searches.
     */
    if (more && (sent > 0 || !relay->waiting))
        relay->next_poll = 0;
    return count > 0;
}

static void run(void *data)
{
    struct relay *relay = data;

    relay->metrics = metric_register();
    relay->arena = arena_create((size_t)64 * 1024);
    relay->pieces = arena_create((size_t)64 * 1024);
    while (!stopping(relay)) {
        if (!turn(relay))
            sleep_until_work(relay);
    }
    while (turn(relay)) /* what was handed over before the stop */
        ;
    if (relay->publisher)
        broker_close(&relay->publisher, true);
    kv_close(&relay->kv);
    db_close(&relay->db);
    arena_destroy(&relay->arena);
    arena_destroy(&relay->pieces);
    lane_health_set(&relay->health, LANE_STOPPED, NULL);
}

/* ---- from other threads ---- */

static void name_owner(struct relay *relay)
{
    char host[20] = "";

    (void)gethostname(host, sizeof host - 1);
    for (char *p = host; *p; p++) {
        if (*p <= ' ' || *p > '~')
            *p = '_';
    }
    snprintf(relay->owner, sizeof relay->owner, "%.20s:%.20s:%d:%08x", host, relay->shared->instance, (int)getpid(),
             (unsigned)backoff_seed());
}

static void target_init(struct target *target, int64_t min_ms, int64_t max_ms)
{
    backoff_init(&target->backoff, min_ms, max_ms, backoff_seed());
}

struct relay *relay_start(struct lane_shared *shared)
{
    struct relay *relay = check_calloc(1, sizeof *relay);
    const struct conf *conf = atomic_load_explicit(&shared->conf, memory_order_acquire);

    relay->shared = shared;
    relay->conf = conf;
    name_owner(relay);
    CHECK_ZERO(pthread_mutex_init(&relay->lock, NULL));
    local_messages_init(&relay->handed);
    relay->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    relay->cleaner_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(relay->wake_fd >= 0 && relay->cleaner_fd >= 0);
    target_init(&relay->db_target, conf->mysql_reconnect_min, conf->mysql_reconnect_max);
    target_init(&relay->broker_target, conf->broker_reconnect_min, conf->broker_reconnect_max);
    target_init(&relay->kv_target, conf->broker_reconnect_min, conf->broker_reconnect_max);
    lane_health_init(&relay->health);
    lane_health_init(&relay->cleaner_health);
    atomic_init(&relay->beat, clock_mono_ms());
    atomic_init(&relay->cleaner_beat, clock_mono_ms());
    relay->thread = (struct thread){.name = "relay", .run = run, .data = relay};
    relay->cleaner = (struct thread){.name = "cleaner", .run = relay_clean, .data = relay};
    thread_start(&relay->thread);
    thread_start(&relay->cleaner);
    return relay;
}

const char *relay_owner(const struct relay *relay)
{
    return relay ? relay->owner : "";
}

int64_t relay_lease_ms(const struct relay *relay, const struct conf *conf)
{
    return relay ? conf->relay_lease : 0;
}

static void wake(int fd)
{
    uint64_t one = 1;

    (void)!write(fd, &one, sizeof one); /* full means that it is awake already */
}

void relay_offer(struct relay *relay, struct local_messages *list)
{
    struct local_message *m;

    if (!relay) {
        local_messages_free(list);
        return;
    }
    CHECK_ZERO(pthread_mutex_lock(&relay->lock));
    while ((m = list->first) && relay->handed.count < HANDED_MAX &&
           relay->handed_bytes + bytes_of(m) <= HANDED_BYTES_MAX) {
        relay->handed_bytes += bytes_of(m);
        local_messages_push(&relay->handed, local_messages_pop(list));
    }
    CHECK_ZERO(pthread_mutex_unlock(&relay->lock));
    local_messages_free(list);
    wake(relay->wake_fd);
}

enum lane_state relay_state(const struct relay *relay)
{
    return lane_health_state(&relay->health);
}

void relay_condition(struct relay *relay, struct lane_condition *out)
{
    lane_health_read(&relay->health, out);
}

int64_t relay_beat(const struct relay *relay)
{
    return atomic_load_explicit(&relay->beat, memory_order_relaxed);
}

void relay_cleaner_condition(struct relay *relay, struct lane_condition *out)
{
    lane_health_read(&relay->cleaner_health, out);
}

int64_t relay_cleaner_beat(const struct relay *relay)
{
    return atomic_load_explicit(&relay->cleaner_beat, memory_order_relaxed);
}

int64_t relay_oldest_ms(const struct relay *relay)
{
    return atomic_load_explicit(&relay->oldest_ms, memory_order_relaxed);
}

void relay_ask_stop(struct relay *relay)
{
    atomic_store_explicit(&relay->stop, true, memory_order_release);
    wake(relay->wake_fd);
    wake(relay->cleaner_fd);
}

void relay_stop(struct relay **relay)
{
    struct relay *r = *relay;

    relay_ask_stop(r);
    thread_join(&r->thread);
    thread_join(&r->cleaner);
    close(r->wake_fd);
    close(r->cleaner_fd);
    local_messages_free(&r->handed);
    CHECK_ZERO(pthread_mutex_destroy(&r->lock));
    lane_health_destroy(&r->health);
    lane_health_destroy(&r->cleaner_health);
    free(r);
    *relay = NULL;
}
