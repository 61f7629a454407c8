/* A sale: buyers deduct, those who got units publish, and then the numbers must add up. */
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "buyers.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "share.h"
#include "verify.h"
#include "watch.h"

/* No more than this many messages wait for the broker before the buyers wait too. */
#define BACKLOG 20000
/* How long a "later" duplicate waits. */
#define LATER_MS 1500
#define TURN_MS  50

struct later { /* a ring of duplicates that are published later, by due time */
    struct {
        int64_t due_ms;
        uint32_t index;
    } * items;
    size_t cap, at, len;
};

struct sale {
    struct run *run;
    struct publisher *publisher;
    struct buyers *buyers;
    struct later later;
    double silent_owed, duplicates_owed;
    double owed[PUBLISH_KINDS]; /* garbage that its share calls for */
    uint32_t made[PUBLISH_KINDS];
    int64_t accepted, accepted_units, silent;
    bool at_once;                                       /* which half of the duplicates is next */
    int64_t begun_ms, served_ms, accepted_ms, ended_ms; /* began; last answer, last accepted; all is published */
};

static void later_add(struct later *l, uint32_t index)
{
    if (l->len == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 256;

        /* Unrolled, so that the ring begins at 0 again. */
        l->items = check_realloc(l->items, cap * sizeof *l->items);
        memcpy(l->items + l->cap, l->items, l->at * sizeof *l->items);
        memmove(l->items, l->items + l->at, l->len * sizeof *l->items);
        l->at = 0;
        l->cap = cap;
    }
    l->items[(l->at + l->len) % l->cap].due_ms = clock_mono_ms() + LATER_MS;
    l->items[(l->at + l->len++) % l->cap].index = index;
}

/* For each good message, the garbage that makes up its share of all messages. */
static void mix_in(struct sale *s)
{
    const struct load_options *o = &s->run->o;
    const double shares[PUBLISH_KINDS] = {
        [PUBLISH_MALFORMED] = o->malformed, [PUBLISH_OVERSIZED] = o->oversized, [PUBLISH_FOREIGN] = o->foreign};
    double good = 100 - o->malformed - o->oversized - o->foreign;

    for (int kind = PUBLISH_MALFORMED; kind < PUBLISH_KINDS; kind++) {
        for (s->owed[kind] += shares[kind] / good; s->owed[kind] >= 1 - 1e-9; s->owed[kind] -= 1)
            publisher_add(s->publisher, (struct publish_item){s->made[kind]++, (uint8_t)kind});
    }
}

static void publish_order(struct sale *s, uint32_t index, enum publish_kind kind)
{
    publisher_add(s->publisher, (struct publish_item){index, (uint8_t)kind});
    mix_in(s);
}

static void on_accepted(void *arg, const struct order *order)
{
    struct sale *s = arg;
    bool silent = share_falls(&s->silent_owed, s->run->o.silent);
    uint32_t index = run_accept(s->run, order, silent ? BOOK_SILENT : BOOK_RESERVED);

    s->accepted++;
    s->accepted_ms = clock_mono_ms();
    s->accepted_units += order->quantity;
    s->silent += silent;
    if (silent)
        return;
    publish_order(s, index, PUBLISH_ORDER);
    if (!share_falls(&s->duplicates_owed, s->run->o.duplicates))
        return;
    s->at_once = !s->at_once;
    if (s->at_once)
        publish_order(s, index, PUBLISH_DUPLICATE);
    else
        later_add(&s->later, index);
}

static void publish_later(struct sale *s)
{
    struct later *l = &s->later;
    int64_t now = clock_mono_ms();

    for (; l->len > 0 && l->items[l->at].due_ms <= now; l->len--) {
        publish_order(s, l->items[l->at].index, PUBLISH_DUPLICATE);
        l->at = (l->at + 1) % l->cap;
    }
}

static bool all_done(const struct sale *s)
{
    return buyers_done(s->buyers) && s->later.len == 0 && publisher_open(s->publisher) == 0;
}

static void show(struct sale *s)
{
    const struct buyers_totals *t = buyers_totals(s->buyers);
    const struct publish_totals *p = publisher_totals(s->publisher);
    const struct error *why = NULL;
    int64_t elapsed = clock_mono_ms() - s->begun_ms;

    if (publisher_down_ms(s->publisher, &why) > 1000 || buyers_down_ms(s->buyers, &why) > 1000)
        progress_show(&s->run->progress, t->answered, s->run->o.buyers, "%" PRId64 " accepted; waiting: %s",
                      s->accepted, why->text);
    else
        progress_show(&s->run->progress, t->answered, s->run->o.buyers,
                      "%" PRId64 " of %" PRId64 " buyers, %" PRId64 " accepted, %" PRIu64 " published, %" PRId64 "/s",
                      t->answered, s->run->o.buyers, s->accepted, p->confirmed[PUBLISH_ORDER],
                      elapsed > 0 ? t->answered * 1000 / elapsed : 0);
}

/* A server that stays away ends the run: false, with the server's error. */
static bool patient(struct sale *s, struct error *err)
{
    const struct error *why = NULL;

    if (publisher_down_ms(s->publisher, &why) <= s->run->o.wait_ms &&
        buyers_down_ms(s->buyers, &why) <= s->run->o.wait_ms)
        return true;
    *err = *why;
    return error_prefix(err, "gave up after %" PRId64 " s", s->run->o.wait_ms / 1000);
}

static int turn_ms(const struct sale *s)
{
    int64_t wait_us = buyers_wait_us(s->buyers);

    return publisher_queued(s->publisher) >= BACKLOG || wait_us > TURN_MS * 1000 ? TURN_MS
                                                                                 : (int)((wait_us + 999) / 1000);
}

static bool sell(struct sale *s, struct error *err)
{
    s->begun_ms = s->served_ms = s->accepted_ms = clock_mono_ms();
    while (!all_done(s)) {
        if (run_interrupted())
            buyers_stop(s->buyers);
        if (publisher_queued(s->publisher) < BACKLOG)
            buyers_turn(s->buyers);
        if (!buyers_done(s->buyers))
            s->served_ms = clock_mono_ms();
        publish_later(s);
        if (!run_flush_ids(s->run, err))
            return false;
        publisher_turn(s->publisher, turn_ms(s));
        if (!patient(s, err))
            return false;
        show(s);
    }
    s->ended_ms = clock_mono_ms();
    return true;
}

static void report_answers(struct sale *s)
{
    const struct buyers_totals *t = buyers_totals(s->buyers);
    struct report *r = &s->run->report;

    for (int row = 0; row < BUYERS_CODES; row++) {
        if (t->codes[row] > 0)
            report_fact(r, buyers_code_name(row), buyers_code_sentence(row), (int64_t)t->codes[row]);
    }
    if (t->failed > 0) {
        report_fact(r, "failed", "calls that Redis refused", (int64_t)t->failed);
        fprintf(stderr, "orderload: Redis refused %" PRIu64 " calls, e.g. %s\n", t->failed, t->failure.text);
    }
    if (buyers_unknown(s->buyers) > 0)
        report_fact(r, "unknown", "buyers whose answer is still unknown", (int64_t)buyers_unknown(s->buyers));
}

static double per_second(double count, int64_t ms)
{
    return ms > 0 ? count * 1000 / (double)ms : 0;
}

static void report_sale(struct sale *s)
{
    const struct buyers_totals *t = buyers_totals(s->buyers);
    struct report *r = &s->run->report;
    int64_t all_ms = (s->ended_ms ? s->ended_ms : clock_mono_ms()) - s->begun_ms;

    report_fact(r, "buyers", "buyers who tried", t->begun);
    report_answers(s);
    report_fact(r, "accepted", "accepted orders", s->accepted);
    report_fact(r, "accepted_units", "units of accepted orders, ended ones too", s->accepted_units);
    report_measure(r, "seconds", "time it took", (double)all_ms / 1000, 2, "s");
    report_measure(r, "buyers_per_second", "buyers served a second",
                   per_second((double)t->answered, s->served_ms - s->begun_ms), 0, "/s");
    report_measure(r, "accepted_per_second", "orders accepted a second, while any",
                   per_second((double)s->accepted, s->accepted_ms - s->begun_ms), 0, "/s");
    report_measure(r, "deduct_p50_ms", "deduct round trip, half within",
                   (double)spread_quantile(&t->latency, 0.5) / 1000, 2, "ms");
    report_measure(r, "deduct_p99_ms", "deduct round trip, 99 % within",
                   (double)spread_quantile(&t->latency, 0.99) / 1000, 2, "ms");
    if (t->outages > 0) {
        report_fact(r, "redis_outages", "times Redis was away", (int64_t)t->outages);
        report_fact(r, "deducts_again", "deducts repeated after that", (int64_t)t->again);
    }
    run_report_publisher(s->run, s->publisher, 0);
}

/* Those that must be rows. */
static int64_t expected(const struct sale *s)
{
    return s->accepted - (s->run->o.recovered ? 0 : s->silent);
}

static void verdict(struct sale *s)
{
    struct report *r = &s->run->report;
    struct strbuf broken = STRBUF_INIT, n = STRBUF_INIT;

    report_number(&n, (double)expected(s), 0);
    report_broken_sentences(r, &broken);
    if (broken.len > 0)
        snprintf(r->sentence, sizeof r->sentence, "BROKEN: %s.", broken.data);
    else if (s->accepted == 0)
        snprintf(r->sentence, sizeof r->sentence,
                 "Good, but nothing was sold: no buyer was accepted (their answers are above). What there is adds up.");
    else
        snprintf(
            r->sentence, sizeof r->sentence,
            "Good: all %s orders that were %s are in the database exactly once, as they were accepted; no unit was "
            "sold twice, and none is lost.",
            n.data, s->run->o.recovered ? "accepted" : "published");
    strbuf_release(&broken);
    strbuf_release(&n);
}

/* Messages of an activity that does not exist lie in the retry queues before they are dead letters: nothing changes for
 * as long as the longest delay. */
static int64_t quiet_ms(const struct sale *s)
{
    const struct conf_delays *delays = &s->run->conf->retry_delays;
    int64_t longest = 0;

    for (size_t i = 0; i < delays->count; i++)
        longest = delays->ms[i] > longest ? delays->ms[i] : longest;
    return s->run->o.settle_ms + (s->run->o.foreign > 0 ? longest : 0) + run_walk_ms(s->run);
}

static bool settle_and_verify(struct sale *s, struct watch *watch, const struct watch_state *before, struct error *err)
{
    const struct load_options *o = &s->run->o;
    const struct publish_totals *p = publisher_totals(s->publisher);
    struct watch_goal goal = {*before, expected(s), 0, o->wait_ms + run_walk_ms(s->run), quiet_ms(s)};
    struct watch_state last;

    for (int kind = 0; kind < PUBLISH_KINDS; kind++)
        goal.dead += publish_kind_dead((enum publish_kind)kind) ? (int64_t)p->confirmed[kind] : 0;
    progress_begin(&s->run->progress, "waiting");
    (void)watch_until(watch, &goal, &s->run->progress, &last);
    progress_end(&s->run->progress);
    report_measure(&s->run->report, "settled_seconds", "then until the database had all",
                   (double)(clock_mono_ms() - s->ended_ms) / 1000, 2, "s");
    if (!verify(s->run->conf, &s->run->book, &s->run->report, o, err))
        return false;
    report_check(&s->run->report, REPORT_DEAD, REPORT_AT_LEAST, goal.dead, last.dead - before->dead);
    verdict(s);
    return true;
}

static bool ready_to_sell(const struct run *run, struct error *err)
{
    const struct activity *a = &run->activity;
    int64_t now = clock_wall_ms();

    if (run->o.malformed + run->o.oversized + run->o.foreign > 90)
        return error_set(err, ERROR_REFUSED, "more than 90 %% of the messages would be garbage");
    if (a->state == ACTIVITY_REVIEW)
        return error_set(err, ERROR_REFUSED,
                         "activity %" PRId64 " is in review: run `orderctl activity approve`, then `orderctl activity "
                         "preheat`",
                         a->id);
    if (!a->preheated)
        return error_set(err, ERROR_REFUSED, "activity %" PRId64 " is not on sale: run `orderctl activity preheat`",
                         a->id);
    if (now < a->starts_at || now >= a->ends_at)
        return error_set(err, ERROR_REFUSED, "activity %" PRId64 " is not on sale now: its sale %s", a->id,
                         now < a->starts_at ? "has not begun" : "is over");
    return true;
}

static bool begin(struct sale *s, struct watch *watch, struct watch_state *before, struct error *err)
{
    struct run *run = s->run;
    struct publish_calls calls = {.build = run_build_message, .arg = run};
    struct buyers_plan plan = {
        .activity = &run->activity,
        .first_user = run->o.users_from,
        .count = run->o.buyers,
        .quantity = (int32_t)run->o.quantity,
        .per_second = run->o.rate,
        .maker = run->maker,
        .accepted = on_accepted,
        .arg = s,
    };

    if (!watch_read(watch, before, err) || !run_open_ids(run, true, err))
        return false;
    s->publisher = publisher_create(run->conf, &calls);
    s->buyers = buyers_create(run->conf, &plan);
    return true;
}

enum exitcode sale_run(struct run *run, struct error *err)
{
    struct sale s = {.run = run};
    struct watch watch;
    struct watch_state before = {0};
    bool ok;

    if (!run_read_activity(run, err) || !ready_to_sell(run, err))
        return EXIT_CONFIG;
    watch_open(&watch, run->conf, run->activity.id);
    ok = begin(&s, &watch, &before, err);
    if (ok) {
        progress_begin(&run->progress, "sale");
        ok = sell(&s, err);
        progress_end(&run->progress);
        report_sale(&s);
    }
    ok = ok && settle_and_verify(&s, &watch, &before, err);
    watch_close(&watch);
    if (s.publisher)
        publisher_destroy(&s.publisher);
    buyers_destroy(&s.buyers);
    free(s.later.items);
    return ok && report_good(&run->report) ? EXIT_OK : EXIT_FAILED;
}
