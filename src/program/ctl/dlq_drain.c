/* orderctl dlq drain: from the queue into the table. A letter is acknowledged only after its row is committed:
 *
 *   killed before the commit   no row; the broker hands the letter out again
 *   killed after the commit    the row is there; the letter comes again, redelivered, and its row is met
 *   killed before an ack       likewise, for those that were not acknowledged
 */
#include <inttypes.h>
#include <stdio.h>

#include "orderd/clock.h"
#include "orderd/dead_letter_store.h"
#include "orderd/fault.h"
#include "orderd/topology.h"
#include "print.h"
#include "record.h"

#define BATCH    50
#define PREFETCH 200 /* letters that are left stay unacknowledged: so many, and no more come */
#define WAIT_MS  100
#define QUIET_MS 400   /* nothing came for so long, and all that had waited has come */
#define MORE_MS  2000  /* or so long after that: letters come without an end, and others want to work on these */
#define SLOW_MS  10000 /* or so long, although some of it has not: somebody else has it */

struct drain {
    struct ctl *ctl;
    struct db *db;
    struct broker *broker;
    char who[CTL_WHO_MAX];
    uint32_t waited; /* in the queue, at first */
    int64_t taken[DEAD_LETTER_LEFT + 1];
    struct error refusal;
};

static int64_t all_taken(const struct drain *d)
{
    int64_t sum = 0;

    for (int i = 0; i <= DEAD_LETTER_LEFT; i++)
        sum += d->taken[i];
    return sum;
}

/* ---- report ---- */

static void print_record(const struct drain *d, bool dry_run)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_number(&line, "waited", d->waited);
    if (!dry_run) {
        record_number(&line, "taken", all_taken(d) - d->taken[DEAD_LETTER_LEFT]);
        record_number(&line, "new", d->taken[DEAD_LETTER_NEW]);
        record_number(&line, "known", d->taken[DEAD_LETTER_KNOWN]);
        record_number(&line, "died_again", d->taken[DEAD_LETTER_AGAIN]);
        record_number(&line, "left", d->taken[DEAD_LETTER_LEFT]);
    }
    record_bool(&line, "dry_run", dry_run);
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

static void print_text(const struct drain *d)
{
    printf("%" PRId64 " taken: %" PRId64 " new, %" PRId64 " known, %" PRId64 " died again\n",
           all_taken(d) - d->taken[DEAD_LETTER_LEFT], d->taken[DEAD_LETTER_NEW], d->taken[DEAD_LETTER_KNOWN],
           d->taken[DEAD_LETTER_AGAIN]);
}

static void conclude(const struct drain *d)
{
    if (d->ctl->json)
        print_record(d, false);
    else
        print_text(d);
    if (d->taken[DEAD_LETTER_LEFT] == 0)
        return;
    print_warning("%" PRId64 " letters are left in the queue, since the database refuses them: %s",
                  d->taken[DEAD_LETTER_LEFT], d->refusal.text);
    d->ctl->code = EXIT_PARTIAL;
}

static void conclude_dry(const struct drain *d)
{
    if (d->ctl->json)
        print_record(d, true);
    else
        printf("%" PRIu32 " would be taken\n", d->waited);
    print_note(d->ctl, "nothing was changed");
}

/* ---- work ---- */

static bool acknowledge(struct drain *d, const struct broker_delivery *list, const enum dead_letter_taken *taken,
                        size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        d->taken[taken[i]]++;
        if (taken[i] == DEAD_LETTER_LEFT)
            continue;
        FAULT(DRAIN_BEFORE_ACK);
        if (!broker_ack(d->broker, list[i].tag, false, err))
            return false;
    }
    return true;
}

static bool take_batch(struct drain *d, size_t *count, struct error *err)
{
    struct broker_delivery list[BATCH];
    enum dead_letter_taken taken[BATCH];
    bool ok;

    if (!broker_take(d->broker, list, BATCH, WAIT_MS, count, err))
        return false;
    ok = *count == 0 || (dead_letter_store_take(d->db, list, *count, d->who, taken, &d->refusal, err) &&
                         acknowledge(d, list, taken, *count, err));
    for (size_t i = 0; i < *count; i++)
        broker_delivery_release(&list[i]);
    return ok;
}

/* last: when the last one came; all: when as many had come as waited at first, 0 for not yet. */
static bool over(int64_t last, int64_t all)
{
    int64_t now = clock_mono_ms();

    return all == 0 ? now - last >= SLOW_MS : now - last >= QUIET_MS || now - all >= MORE_MS;
}

static bool take_all(struct drain *d, struct error *err)
{
    int64_t last = clock_mono_ms(), all = d->waited == 0 ? last : 0;
    size_t count;

    if (!broker_consume(d->broker, topology_name(TOPOLOGY_QUEUE_DEAD), PREFETCH, "orderctl dlq drain", err))
        return false;
    while (!over(last, all) && d->taken[DEAD_LETTER_LEFT] < PREFETCH) {
        if (broker_cancelled(d->broker))
            return error_set(err, ERROR_BROKER_AWAY, "the broker ended the subscription to %s",
                             topology_name(TOPOLOGY_QUEUE_DEAD));
        if (!take_batch(d, &count, err))
            return false;
        if (count > 0)
            last = clock_mono_ms();
        if (all == 0 && all_taken(d) >= (int64_t)d->waited)
            all = clock_mono_ms();
        print_progress(d->ctl, "%" PRId64 " of %" PRIu32 " taken", all_taken(d), d->waited);
    }
    return true;
}

static bool lock(struct drain *d, struct error *err)
{
    bool locked;

    if (!dead_letter_store_lock(d->db, &locked, err))
        return false;
    return locked || error_set(err, ERROR_DB_CONFLICT, "another drain is at work");
}

static bool drain(struct drain *d, struct error *err)
{
    bool ok = lock(d, err) && take_all(d, err);

    print_progress_end();
    if (!ok && all_taken(d) > 0)
        ctl_advise(d->ctl, "%" PRId64 " letters were taken before that; run it again for the rest", all_taken(d));
    return ok;
}

static bool look(struct drain *d, struct error *err)
{
    uint32_t consumers;

    return broker_queue_depth(d->broker, topology_name(TOPOLOGY_QUEUE_DEAD), &d->waited, &consumers, err);
}

bool ctl_dlq_drain(struct ctl *ctl, struct error *err)
{
    bool dry_run = ctl->values[CTL_OPTION_dlq_drain_dry_run].set, ok;
    struct drain d = {.ctl = ctl};

    ctl_who(d.who);
    ok = (d.db = ctl_open_schema(ctl, err)) && (d.broker = ctl_open_broker(ctl, err)) && look(&d, err) &&
         (dry_run || drain(&d, err));
    ctl_close_broker(&d.broker);
    db_close(&d.db);
    if (ok && dry_run)
        conclude_dry(&d);
    else if (ok)
        conclude(&d);
    return ok;
}
