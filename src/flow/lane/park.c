/* Messages that must be published before they can be acknowledged, while nothing can be: the broker has an alarm, a
 * queue is missing, the connection is away. They wait aside, unacknowledged, and the sale goes on: consuming is what
 * ends a memory alarm. At most half the window may wait so, or the lane would be left without room to work; past that
 * it holds. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"

struct lane_parked {
    struct lane_item item;
    char *detail; /* the item's, out of the batch's arena */
};

static void let_go(struct lane_parked *p)
{
    broker_delivery_release(&p->item.delivery);
    free(p->item.outcome);
    free(p->detail);
}

void park_release(struct lane *lane)
{
    for (size_t i = 0; i < lane->parked_count; i++) {
        if (settle_outcome(&lane->parked[i].item) == BROKER_OUTCOME_PENDING)
            lane_close_publisher(lane); /* it would still write there */
    }
    for (size_t i = 0; i < lane->parked_count; i++)
        let_go(&lane->parked[i]);
    lane->parked_count = 0;
}

void park_destroy(struct lane *lane)
{
    park_release(lane);
    free(lane->parked);
    lane->parked = NULL;
}

bool park_has_room(const struct lane *lane, size_t more)
{
    return lane->parked_count + more <= (size_t)lane->settings.prefetch / 2;
}

void park(struct lane *lane, struct lane_item *item)
{
    struct lane_parked *p;

    lane->parked = check_realloc(lane->parked, (lane->parked_count + 1) * sizeof *lane->parked);
    p = &lane->parked[lane->parked_count++];
    p->item = *item;
    p->detail = check_strdup(item->detail);
    p->item.detail = p->detail;
    item->delivery = (struct broker_delivery){0};
    item->outcome = NULL;
    item->parked = true;
    metric_add(lane->metrics, METRIC_MESSAGES_PARKED, 1);
    if (lane->parked_count == 1) {
        lane->parked_since = clock_mono_ms();
        backoff_reset(&lane->parking);
        lane->parked_next = lane->parked_since + backoff_next(&lane->parking);
    }
}

/* Those that are stored now are acknowledged, one by one, and gone. */
static bool ack_stored(struct lane *lane, struct error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < lane->parked_count; i++) {
        struct lane_parked *p = &lane->parked[i];

        if (settle_outcome(&p->item) != BROKER_OUTCOME_CONFIRMED) {
            lane->parked[kept++] = *p;
            continue;
        }
        if (!broker_ack(lane->consumer, p->item.delivery.tag, false, err)) {
            for (; i < lane->parked_count; i++)
                lane->parked[kept++] = lane->parked[i];
            lane->parked_count = kept;
            return false;
        }
        settle_count(lane, &p->item);
        let_go(p);
    }
    lane->parked_count = kept;
    return true;
}

static bool publish_parked(struct lane *lane, struct error *why)
{
    for (size_t i = 0; i < lane->parked_count; i++) {
        if (!settle_publish(lane, &lane->parked[i].item, why))
            return false;
    }
    return true;
}

/* false: the consumer is lost. */
bool park_retry(struct lane *lane, struct error *err)
{
    struct error why = {0};

    if (lane->parked_count == 0 || clock_mono_ms() < lane->parked_next)
        return true;
    if (!publish_parked(lane, &why)) {
        log_event(LOG_EVENT_LANE_PARKED, LOG_INT("messages", lane->parked_count),
                  LOG_INT("parked_ms", clock_mono_ms() - lane->parked_since), LOG_ERR(&why));
        lane->parked_next = clock_mono_ms() + backoff_next(&lane->parking);
    }
    return ack_stored(lane, err);
}

bool park_too_long(const struct lane *lane)
{
    return lane->parked_count > 0 && clock_mono_ms() - lane->parked_since > lane->settings.hold_max;
}
