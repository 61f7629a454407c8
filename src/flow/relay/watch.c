/* Whether the relay's three servers are there. One that is away would else be noticed by the next message for it, which
 * may be the first unit that should be back on sale. */
#include "relay_private.h"

#include "orderd/clock.h"

/* How often an idle connection to Redis is tried; the broker's has heartbeats, and the database is searched anyway. */
#define PING_MS 3000

static void watch_kv(struct relay *relay)
{
    static const struct slice ping = {"PING", 4};
    struct error err = {0};
    struct kv_reply *reply;

    if (!relay->kv) {
        if (target_may_try(&relay->kv_target))
            (void)!relay_open_kv(relay, &err); /* says so itself */
        return;
    }
    if (clock_mono_ms() < relay->next_ping)
        return;
    relay->next_ping = clock_mono_ms() + PING_MS;
    reply = kv_command(relay->kv, &ping, 1, &err);
    if (!reply)
        relay_lose_kv(relay, &err);
    kv_reply_free(&reply);
}

void relay_watch(struct relay *relay)
{
    const struct target *const targets[] = {&relay->db_target, &relay->broker_target, &relay->kv_target};
    struct error err = {0};

    if (!relay->publisher && target_may_try(&relay->broker_target))
        (void)!relay_open_publisher(relay, &err);
    watch_kv(relay);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (!targets[i]->away)
            continue;
        error_set(&err, ERROR_REFUSED, "%s", targets[i]->why);
        lane_health_set(&relay->health, LANE_CONNECTING, &err);
        return;
    }
    lane_health_set(&relay->health, LANE_CONSUMING, NULL);
}
