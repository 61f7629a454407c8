/* What asks for a person, as sentences with the command that helps. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "orderd/top.h"
#include "sale_words.h"
#include "words.h"

#define RELAY_LATE_MS  60000

#define RELEASE_LATE_S 60

/* The daemon reads it every second. */
#define OLD_MS 10000

static struct alarm *add(struct alarms *list, enum frame_tint tint, const char *fmt, ...) ORDERD_PRINTF(3, 4);

/* NULL: enough of them. */
static struct alarm *add(struct alarms *list, enum frame_tint tint, const char *fmt, ...)
{
    struct alarm *a;
    va_list ap;

    if (list->count == ALARM_MAX)
        return NULL;
    a = &list->list[list->count++];
    a->tint = tint;
    va_start(ap, fmt);
    vsnprintf(a->text, sizeof a->text, fmt, ap);
    va_end(ap);
    return a;
}

static void advise(struct alarm *a, const char *command)
{
    if (a)
        snprintf(a->command, sizeof a->command, "%s", command);
}

static void advise_about(struct alarm *a, const char *command, int64_t id)
{
    if (a && id != SALE_UNKNOWN)
        snprintf(a->command, sizeof a->command, "orderctl %s %" PRId64, command, id);
}

/* ---- nobody tells anything ---- */

static void of_silence(const struct top_state *s, struct alarms *list)
{
    char n[WORD_MAX];

    if (s->away_ms > 0)
        add(list, FRAME_ALARM, "No numbers for %s, trying on: %.300s", word_clock(n, s->away_ms), s->why);
    else if (s->old_ms > 0)
        add(list, FRAME_ALARM, "These numbers are %s old: orderd answers, but reads no new ones",
            word_clock(n, s->old_ms));
}

/* ---- money ---- */

static void of_books(const struct sale_activity *a, struct alarms *list)
{
    char n[WORD_MAX];

    if (a->books.drift != 0 && a->books.drift != SALE_UNKNOWN)
        advise_about(add(list, FRAME_ALARM, "Activity %" PRId64 ": Redis and MySQL differ by %s unit%s", a->id,
                         word_count(n, a->books.drift), a->books.drift == 1 ? "" : "s"),
                     "reconcile --activity", a->id);
    if (strcmp(a->verdict, "broken") == 0)
        advise_about(add(list, FRAME_BAD, "Activity %" PRId64 ": the last reconcile found it broken", a->id),
                     "reconcile --activity", a->id);
    if (a->shards_missing > 0)
        advise_about(add(list, FRAME_BAD, "Activity %" PRId64 ": shards missing in Redis: %s", a->id,
                         word_count(n, a->shards_missing)),
                     "activity show", a->id);
    if (a->shards_damaged > 0)
        advise_about(add(list, FRAME_BAD, "Activity %" PRId64 ": damaged shards in Redis: %s", a->id,
                         word_count(n, a->shards_damaged)),
                     "activity show", a->id);
}

static void of_activities(const struct top_state *s, struct alarms *list)
{
    for (size_t i = 0; i < s->sale->activity_count; i++)
        of_books(&s->sale->activities[i], list);
}

/* ---- who works ---- */

static void of_servers(const struct top_state *s, struct alarms *list)
{
    for (size_t i = 0; i < s->sale->dependency_count; i++) {
        const struct sale_dependency *d = &s->sale->dependencies[i];

        if (d->known && !d->up)
            add(list, FRAME_BAD, "%.40s is down%s%.300s", d->name, d->why[0] ? ": " : "", d->why);
    }
}

int64_t top_fleet_age(const struct top_state *s)
{
    int64_t age = s->now >= 0 && s->sale->replicas_at >= 0 ? s->now - s->sale->replicas_at : 0;

    return age > OLD_MS ? age : 0;
}

static void of_replicas(const struct top_state *s, struct alarms *list)
{
    char n[WORD_MAX];

    if (top_fleet_age(s) > 0)
        add(list, FRAME_WARN, "The list of replicas is %s old", word_clock(n, top_fleet_age(s)));
    if (s->sale->replica_count == 0)
        add(list, FRAME_WARN, "No replica is known");
    for (size_t i = 0; i < s->sale->replica_count; i++) {
        const struct sale_replica *r = &s->sale->replicas[i];

        if (strcmp(r->state, "lost") == 0)
            add(list, FRAME_BAD, "Replica %.32s is lost: last seen %s ago", r->instance,
                word_clock(n, r->seen_at < 0 || s->now < 0 ? SALE_UNKNOWN : s->now - r->seen_at));
        else if (strcmp(r->state, "not_ready") == 0)
            add(list, FRAME_BAD, "Replica %.32s is not ready%s%.300s", r->instance, r->why[0] ? ": " : "", r->why);
    }
}

/* ---- what waits for a person, or for too long ---- */

static void of_dead_letters(const struct sale_view *v, struct alarms *list)
{
    char n[WORD_MAX];

    if (v->dead_queue > 0)
        advise(add(list, FRAME_WARN, "Dead letters in their queue: %s", word_count(n, v->dead_queue)),
               "orderctl dlq drain");
    if (v->dead_open > 0)
        advise(add(list, FRAME_WARN, "Dead letters that are open: %s", word_count(n, v->dead_open)),
               "orderctl dlq list --state open");
}

static void of_relay(const struct sale_view *v, struct alarms *list)
{
    char n[WORD_MAX];

    if (v->relay_quarantined > 0)
        advise(add(list, FRAME_BAD, "Local messages in quarantine: %s", word_count(n, v->relay_quarantined)),
               "orderctl outbox list --state quarantined");
    if (v->relay_oldest_ms > RELAY_LATE_MS)
        advise(add(list, FRAME_WARN, "The oldest local message is late by %s", word_clock(n, v->relay_oldest_ms)),
               "orderctl outbox list --due");
}

/* Releasing takes a moment, and many are due at once: it is late where it would not be done in a minute. */
static bool release_is_late(const struct sale_view *v, const struct sale_activity *a)
{
    return a->overdue > 0 && (double)a->overdue > v->rates.closed * RELEASE_LATE_S;
}

static void of_lateness(const struct top_state *s, struct alarms *list)
{
    for (size_t i = 0; i < s->sale->activity_count; i++) {
        const struct sale_activity *a = &s->sale->activities[i];
        char text[2 * WORD_MAX], n[WORD_MAX];

        if (release_is_late(s->sale, a))
            add(list, FRAME_WARN, "Activity %" PRId64 ": orders unpaid past their time: %s", a->id,
                word_count(n, a->overdue));
        if (sale_is_late(a, s->now))
            add(list, FRAME_WARN, "Activity %" PRId64 " %s", a->id, sale_clock(text, a, s->now));
        if (sale_is_running(a) && a->books.drift == SALE_UNKNOWN)
            add(list, FRAME_WARN, "Activity %" PRId64 ": its drift is not known now", a->id);
    }
}

void top_alarms(const struct top_state *s, struct alarms *list)
{
    list->count = 0;
    of_silence(s, list);
    of_activities(s, list);
    of_servers(s, list);
    of_replicas(s, list);
    of_relay(s->sale, list);
    of_dead_letters(s->sale, list);
    of_lateness(s, list);
}

void top_tell_alarms(const struct sale_view *sale, int64_t now, top_alarm_fn on_alarm, void *arg)
{
    const struct top_state s = {.sale = sale, .now = now, .why = ""};
    struct alarms list = {0};

    top_alarms(&s, &list);
    for (size_t i = 0; i < list.count; i++)
        on_alarm(arg, list.list[i].tint != FRAME_WARN, list.list[i].text, list.list[i].command);
}
