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
#define HANDED_MAX 20000
#define IDLE_MS    1000
/* How often a mark is tried again with a new connection before its rows are left to their lease. */
#define MARK_TRIES 3

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
                 own_backoff(relay->conf, s->message->attempts), why);
}

bool target_may_try(const struct target *target)
{
    return clock_mono_ms() >= target->next_try;
}

void target_failed(struct target *target)
{
    target->next_try = clock_mono_ms() + backoff_next(&target->backoff);
}

/* ---- one round ---- */

static bool stopping(const struct relay *relay)
{
    return atomic_load_explicit(&relay->stop, memory_order_acquire);
}

static void set_state(struct relay *relay, enum lane_state state)
{
    atomic_store_explicit(&relay->state, state, memory_order_release);
}

static bool open_db(struct relay *relay)
{
    struct error err = {0};

    if (relay->db && !db_usable(relay->db))
        db_close(&relay->db);
    if (relay->db || !target_may_try(&relay->db_target))
        return relay->db != NULL;
    relay->db = db_open(relay->conf, &err);
    if (relay->db) {
        backoff_reset(&relay->db_target.backoff);
        set_state(relay, LANE_CONSUMING);
    } else {
        target_failed(&relay->db_target);
        set_state(relay, LANE_CONNECTING);
        log_event(LOG_EVENT_DB_DOWN, LOG_ERR(&err));
    }
    return relay->db != NULL;
}

static void take_handed(struct relay *relay, struct local_messages *list)
{
    CHECK_ZERO(pthread_mutex_lock(&relay->lock));
    local_messages_append(list, &relay->handed);
    CHECK_ZERO(pthread_mutex_unlock(&relay->lock));
}

/* Due rows, when it is time for a search; at once again as long as searches come back full. */
static bool poll_table(struct relay *relay, struct local_messages *list, struct error *err)
{
    size_t max = (size_t)relay->conf->relay_batch_max, before = list->count;
    int64_t age;

    if (clock_mono_ms() < relay->next_poll || stopping(relay))
        return true;
    if (!local_message_oldest(relay->db, &age, err))
        return false;
    atomic_store_explicit(&relay->oldest_ms, age, memory_order_relaxed);
    if (!local_message_claim(relay->db, relay->owner, relay->conf->relay_lease, max, list, err))
        return false;
    if (list->count - before < max)
        relay->next_poll = clock_mono_ms() + relay->conf->relay_poll_interval;
    if (list->count > before)
        FAULT(RELAY_AFTER_CLAIM);
    return true;
}

/* Takes the messages out of the list. What is begun after half its lease may end after all of it: that is left to
 * whoever takes it then. */
static size_t prepare(struct relay *relay, struct local_messages *list, struct sending *all)
{
    int64_t oldest = clock_mono_ms() - relay->conf->relay_lease / 2;
    struct local_message *m;
    size_t count = 0;

    while ((m = local_messages_pop(list))) {
        if (m->leased_at < oldest) {
            free(m);
            continue;
        }
        all[count] = (struct sending){.message = m, .kind = effect_of_topic(m->topic)};
        if (all[count].kind == EFFECT_UNKNOWN)
            relay_settle(&all[count], LOCAL_MESSAGE_QUARANTINE, 0, "no effect is known for this topic");
        count++;
    }
    return count;
}

static void log_result(const struct sending *s)
{
    enum log_event event;

    if (s->result == LOCAL_MESSAGE_SENT)
        return;
    event = s->result == LOCAL_MESSAGE_QUARANTINE ? LOG_EVENT_RELAY_QUARANTINED
            : s->result == LOCAL_MESSAGE_AGAIN    ? LOG_EVENT_RELAY_FAILED
                                                  : LOG_EVENT_RELAY_WAITING;
    log_event(event, LOG_SLICE("message_key", s->message->key), LOG_SLICE("topic", s->message->topic),
              LOG_INT("attempts", s->message->attempts), LOG_STR("why", s->why ? s->why : ""));
}

/* Writes one result for a list of messages; with a new connection where the old one is lost, since it is fenced and can
 * be repeated. */
static void mark(struct relay *relay, const struct local_messages *list, const struct sending *like)
{
    struct error err = {0};
    size_t written = 0;

    for (int i = 0; i < MARK_TRIES; i++) {
        if (open_db(relay) &&
            local_message_settle(relay->db, list, like->result, like->wait_ms, like->why, &written, &err)) {
            if (written < list->count && i == 0) {
                metric_add(relay->metrics, METRIC_RELAY_LEASES_LOST, list->count - written);
                log_event(LOG_EVENT_RELAY_LEASE_LOST, LOG_INT("rows", list->count - written));
            }
            return;
        }
        if (relay->db)
            db_rollback(relay->db);
        relay->db_target.next_try = 0;
        clock_sleep_ms(20);
    }
    log_event(LOG_EVENT_DB_DOWN, LOG_INT("rows", list->count), LOG_ERR(&err));
}

static void mark_sent(struct relay *relay, struct sending *all, size_t count)
{
    struct local_messages sent;
    struct sending like = {.result = LOCAL_MESSAGE_SENT};

    local_messages_init(&sent);
    for (size_t i = 0; i < count; i++) {
        if (all[i].result == LOCAL_MESSAGE_SENT)
            local_messages_push(&sent, all[i].message);
    }
    if (sent.count > 0)
        mark(relay, &sent, &like);
    metric_add(relay->metrics, METRIC_RELAY_SENT, sent.count);
    local_messages_free(&sent);
}

static void mark_other(struct relay *relay, struct sending *s)
{
    struct local_messages one;

    log_result(s);
    if (s->result == LOCAL_MESSAGE_QUARANTINE)
        metric_add(relay->metrics, METRIC_RELAY_QUARANTINED, 1);
    local_messages_init(&one);
    local_messages_push(&one, s->message);
    mark(relay, &one, s);
    local_messages_free(&one);
}

static void send_all(struct relay *relay, struct local_messages *list)
{
    struct sending *all = arena_alloc(relay->arena, list->count * sizeof *all);
    size_t count = prepare(relay, list, all);

    relay_stock(relay, all, count);
    relay_publish(relay, all, count);
    FAULT(RELAY_AFTER_SEND);
    for (size_t i = 0; i < count; i++) {
        if (all[i].result != LOCAL_MESSAGE_SENT)
            mark_other(relay, &all[i]);
    }
    mark_sent(relay, all, count);
    FAULT(RELAY_AFTER_MARK);
}

/* Sleeps until something is handed over, the broker has something to say, or the next search is due. */
static void sleep_until_work(struct relay *relay)
{
    struct pollfd fds[2] = {{.fd = relay->wake_fd, .events = POLLIN}};
    int64_t wait = relay->next_poll - clock_mono_ms();
    uint64_t ignored;

    if (relay->publisher)
        fds[1] = (struct pollfd){.fd = broker_fd(relay->publisher), .events = POLLIN};
    if (!relay->db)
        wait = relay->db_target.next_try - clock_mono_ms();
    wait = wait > IDLE_MS ? IDLE_MS : wait;
    if (wait > 0)
        (void)poll(fds, relay->publisher ? 2 : 1, (int)wait);
    while (read(relay->wake_fd, &ignored, sizeof ignored) > 0)
        ;
}

static void keep_alive(struct relay *relay)
{
    struct error err = {0};

    if (!relay->publisher || broker_pump(relay->publisher, 0, &err))
        return;
    log_event(LOG_EVENT_BROKER_DOWN, LOG_STR("connection", "relay"), LOG_ERR(&err));
    broker_close(&relay->publisher, false);
}

/* true: there was something to do. */
static bool turn(struct relay *relay)
{
    struct local_messages list;
    struct error err = {0};
    bool any;

    relay->conf = atomic_load_explicit(&relay->shared->conf, memory_order_acquire);
    atomic_store_explicit(&relay->beat, clock_mono_ms(), memory_order_relaxed);
    arena_reset(relay->arena);
    keep_alive(relay);
    local_messages_init(&list);
    if (!open_db(relay))
        return false;
    take_handed(relay, &list);
    if (!poll_table(relay, &list, &err)) {
        db_rollback(relay->db);
        relay->next_poll = clock_mono_ms() + 100;
        log_event(LOG_EVENT_DB_DOWN, LOG_ERR(&err));
    }
    any = list.count > 0;
    if (any)
        send_all(relay, &list);
    return any;
}

static void run(void *data)
{
    struct relay *relay = data;

    relay->metrics = metric_register();
    relay->arena = arena_create((size_t)64 * 1024);
    while (!stopping(relay)) {
        if (!turn(relay))
            sleep_until_work(relay);
    }
    (void)turn(relay); /* what was handed over before the stop */
    local_messages_free(&relay->handed);
    if (relay->publisher)
        broker_close(&relay->publisher, true);
    kv_close(&relay->kv);
    db_close(&relay->db);
    arena_destroy(&relay->arena);
    set_state(relay, LANE_STOPPED);
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
    atomic_init(&relay->state, LANE_CONNECTING);
    atomic_init(&relay->beat, clock_mono_ms());
    relay->thread = (struct thread){.name = "relay", .run = run, .data = relay};
    relay->cleaner = (struct thread){.name = "cleaner", .run = relay_clean, .data = relay};
    thread_start(&relay->thread);
    thread_start(&relay->cleaner);
    return relay;
}

const char *relay_owner(const struct relay *relay)
{
    return relay->owner;
}

static void wake(int fd)
{
    uint64_t one = 1;

    (void)!write(fd, &one, sizeof one); /* full means that it is awake already */
}

void relay_offer(struct relay *relay, struct local_messages *list)
{
    CHECK_ZERO(pthread_mutex_lock(&relay->lock));
    if (relay->handed.count + list->count <= HANDED_MAX)
        local_messages_append(&relay->handed, list);
    CHECK_ZERO(pthread_mutex_unlock(&relay->lock));
    local_messages_free(list);
    wake(relay->wake_fd);
}

enum lane_state relay_state(const struct relay *relay)
{
    return atomic_load_explicit(&relay->state, memory_order_acquire);
}

int64_t relay_beat(const struct relay *relay)
{
    return atomic_load_explicit(&relay->beat, memory_order_relaxed);
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
    CHECK_ZERO(pthread_mutex_destroy(&r->lock));
    free(r);
    *relay = NULL;
}
