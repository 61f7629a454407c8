#include "watch.h"

#include <inttypes.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/create_queue.h"
#include "orderd/strbuf.h"
#include "orderd/topology.h"

/* Between two looks at the least; counting many rows takes longer, and then the pauses do too. */
#define LOOK_MS 100

void watch_open(struct watch *w, const struct conf *conf, int64_t activity)
{
    *w = (struct watch){.conf = conf, .activity = activity};
}

void watch_close(struct watch *w)
{
    db_close(&w->db);
    if (w->broker)
        broker_close(&w->broker, true);
}

/* Counted in the narrowest index that begins with the activity. */
static bool read_rows(struct watch *w, struct watch_state *state, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    if (!w->db)
        w->db = db_open(w->conf, err);
    if (!w->db)
        return false;
    strbuf_addf(&sql, "SELECT COUNT(*) FROM orders FORCE INDEX(uk_live) WHERE activity_id=%" PRId64, w->activity);
    ok = db_query_i64(w->db, (struct slice){sql.data, sql.len}, 0, &state->rows, err);
    strbuf_release(&sql);
    /* Before the queue is looked at: a letter that is drained in between is missed once, never counted twice. */
    ok = ok && db_query_i64(w->db, slice_of("SELECT CAST(COALESCE(SUM(times),0) AS SIGNED) FROM dead_letter"), 0,
                            &state->drained, err);
    if (!ok)
        db_close(&w->db);
    return ok;
}

static bool open_broker(struct watch *w, struct error *err)
{
    bool seen;

    w->broker = broker_open(w->conf, "orderload watch", err);
    if (!w->broker)
        return false;
    if (create_queue_count(w->broker, w->conf, &w->create_queues, &seen, err))
        return true;
    broker_close(&w->broker, false);
    return false;
}

static bool advise(struct error *err)
{
    if (err->code != ERROR_BROKER_SETUP)
        return false;
    if (strstr(err->text, "ACCESS_REFUSED")) /* RabbitMQ 4.2.6 and later */
        return error_prefix(err, "to look at its queues this account needs a right on each (docs/servers.md)");
    return error_prefix(err, "run `orderctl topology apply` first");
}

static bool read_queues(struct watch *w, struct watch_state *state, struct error *err)
{
    struct create_queues queues;
    uint32_t dead = 0, consumers = 0;

    if (!w->broker && !open_broker(w, err))
        return false;
    if (!create_queue_look(w->broker, w->conf, w->create_queues, &queues, err) ||
        !broker_queue_depth(w->broker, topology_name(TOPOLOGY_QUEUE_DEAD), &dead, &consumers, err)) {
        broker_close(&w->broker, false);
        return advise(err);
    }
    state->waiting = queues.sum;
    state->dead = state->drained + dead;
    return true;
}

bool watch_read(struct watch *w, struct watch_state *state, struct error *err)
{
    return read_rows(w, state, err) && read_queues(w, state, err);
}

static bool reached(const struct watch_goal *goal, const struct watch_state *now)
{
    return now->rows - goal->before.rows >= goal->rows && now->dead - goal->before.dead >= goal->dead &&
           now->waiting == 0;
}

static void show(struct progress *progress, const struct watch_goal *goal, const struct watch_state *now, bool known,
                 const struct error *err)
{
    int64_t rows = now->rows - goal->before.rows;

    if (known)
        progress_show(progress, rows, goal->rows, "%" PRId64 " of %" PRId64 " rows, %" PRId64 " messages wait", rows,
                      goal->rows, now->waiting);
    else
        progress_show(progress, rows, goal->rows, "%s", err->text);
}

bool watch_until(struct watch *w, const struct watch_goal *goal, struct progress *progress, struct watch_state *last)
{
    int64_t now_ms = clock_mono_ms(), until = now_ms + goal->wait_ms, changed = now_ms;

    *last = goal->before;
    for (;;) {
        struct watch_state now = *last;
        struct error err = {0};
        int64_t begun = clock_mono_ms(), took;
        bool known = watch_read(w, &now, &err);

        if (known && reached(goal, &now)) {
            *last = now;
            return true;
        }
        now_ms = clock_mono_ms();
        took = now_ms - begun;
        /* What cannot be seen may well change: an outage does not count as quiet. */
        if (!known || memcmp(&now, last, sizeof now) != 0)
            changed = now_ms;
        *last = now;
        if (now_ms >= until || now_ms - changed >= goal->settle_ms)
            return false;
        show(progress, goal, &now, known, &err);
        clock_sleep_ms(took * 4 > LOOK_MS ? took * 4 : LOOK_MS);
    }
}
