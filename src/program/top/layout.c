/* The frame as a whole: head, alarms, parts, keys. */
#include "layout.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"
#include "words.h"

/* What weighs most is left out last. */
enum { HEAD_WEIGHT = 1000, FIRST_ALARM_WEIGHT = 990, ALARM_WEIGHT = 720 };

/* Less than this is no curve. */
#define CHART_MIN 4
#define CHART_MAX 14

void top_past_add(struct top_past *past, const struct sale_view *sale)
{
    if (past->count == PAST_MAX) {
        past->count--;
        memmove(past->created, past->created + 1, past->count * sizeof *past->created);
        memmove(past->backlog, past->backlog + 1, past->count * sizeof *past->backlog);
    }
    past->created[past->count] = sale->rates.created;
    past->backlog[past->count] = sale->backlog == SALE_UNKNOWN ? NAN : (double)sale->backlog;
    past->count++;
}

/* ---- which activity ---- */

static size_t place_of(const struct top_state *s, int64_t id)
{
    size_t i = 0;

    while (i < s->sale->activity_count && s->sale->activities[i].id != id)
        i++;
    return i;
}

const struct sale_activity *top_chosen(const struct top_state *s)
{
    size_t i = s->activity ? place_of(s, s->activity) : 0;

    return i < s->sale->activity_count ? &s->sale->activities[i] : NULL;
}

int64_t top_step(const struct top_state *s, int step)
{
    int64_t last = (int64_t)s->sale->activity_count - 1, at;

    if (last < 0)
        return 0;
    at = s->activity ? (int64_t)place_of(s, s->activity) : 0;
    if (at > last) /* what was chosen is gone */
        at = step > 0 ? -1 : 0;
    at += step;
    return s->sale->activities[at < 0 ? 0 : at > last ? last : at].id;
}

/* ---- head ---- */

static void add_ready(const struct top_state *s, struct sheet *p)
{
    size_t ready = 0, all = s->sale->replica_count;
    char ago[WORD_MAX];

    for (size_t i = 0; i < all; i++)
        ready += strcmp(s->sale->replicas[i].state, "ready") == 0;
    if (top_fleet_age(s) > 0) {
        sheet_field(p, FRAME_WARN, "%zu of %zu ready %s ago", ready, all, word_clock(ago, top_fleet_age(s)));
        return;
    }
    sheet_field(p, ready == all && all > 0 ? FRAME_GOOD : FRAME_WARN, "%zu of %zu %s ready", ready, all,
                all == 1 ? "replica" : "replicas");
}

static void add_head(const struct top_state *s, struct sheet *p)
{
    const char *instance = s->sale->instance;
    char at[32], right[64], every[WORD_MAX];

    sheet_line(p, HEAD_WEIGHT, 0, "");
    sheet_field(p, FRAME_STRONG, "orderd%s%.16s", instance[0] ? " @" : "", instance);
    add_ready(s, p);
    if (s->paused)
        sheet_field(p, FRAME_ALARM, " PAUSED ");
    if (s->now == SALE_UNKNOWN)
        return;
    clock_format_sql(at, sizeof at, s->now);
    at[strlen("2026-12-01 10:00:00")] = '\0';
    if (s->live && s->interval_ms % 1000 == 0)
        snprintf(right, sizeof right, "every %s  %s UTC", word_clock(every, s->interval_ms), at);
    else if (s->live)
        snprintf(right, sizeof right, "every %.1fs  %s UTC", (double)s->interval_ms / 1000, at);
    else
        snprintf(right, sizeof right, "%s UTC", at);
    sheet_right(p, FRAME_DIM, right);
}

static void add_alarm(struct sheet *p, int weight, const struct alarm *alarm, size_t all)
{
    char count[32] = "", text[sizeof count + sizeof alarm->text + 8];

    if (all > 1)
        snprintf(count, sizeof count, "(1 of %zu) ", all);
    snprintf(text, sizeof text, "! %s%s", count, alarm->text);
    sheet_line(p, weight, 20, "");
    sheet_words(p, alarm->tint, text);
    if (alarm->command[0])
        sheet_field(p, FRAME_STRONG, "%s", alarm->command);
}

static void add_alarms(const struct top_state *s, struct sheet *p)
{
    struct alarms alarms = {0};

    top_alarms(s, &alarms);
    if (alarms.count == 0) {
        sheet_line(p, FIRST_ALARM_WEIGHT, 0, "");
        sheet_field(p, FRAME_DIM, "Nothing asks for a person.");
        return;
    }
    for (size_t i = 0; i < alarms.count; i++)
        add_alarm(p, i == 0 ? FIRST_ALARM_WEIGHT : ALARM_WEIGHT - 40 * (int)i, &alarms.list[i],
                  i == 0 ? alarms.count : 1);
}

/* ---- the whole ---- */

static void fill(const struct top_state *s, struct sheet *p, int most, int chart_rows)
{
    add_head(s, p);
    add_alarms(s, p);
    sheet_blank(p);
    if (s->sale->activity_count > 1)
        top_activities(s, p, most);
    sheet_blank(p);
    top_activity(s, p, chart_rows);
    sheet_blank(p);
    top_traffic(s, p);
    sheet_blank(p);
    top_fleet(s, p);
}

static struct frame *filled(const struct top_state *s, int width, int height, bool utf8, int chart_rows)
{
    struct sheet sheet;
    struct frame *f;

    sheet_begin(&sheet, width, utf8);
    fill(s, &sheet, height > 0 ? height : 1000, chart_rows);
    f = sheet_choose(&sheet, height);
    sheet_end(&sheet);
    return f;
}

/* How high the curve may be: what the rest leaves free. */
static int chart_room(const struct top_state *s, int width, int height, bool utf8)
{
    struct frame *f = filled(s, width, 0, utf8, 0);
    int room = height - f->height - 2; /* its foot, and a blank */

    frame_destroy(&f);
    return room < CHART_MIN ? 0 : room > CHART_MAX ? CHART_MAX : room;
}

static void add_keys(const struct top_state *s, struct frame *f)
{
    int row = f->height - 1, column;

    column = frame_put(f, row, 0, INT_MAX, FRAME_DIM, "q quit  ? help  ");
    column =
        frame_put(f, row, column, INT_MAX, s->paused ? FRAME_STRONG : FRAME_DIM, s->paused ? "p go on" : "p pause");
    if (s->sale->activity_count > 1)
        frame_put(f, row, column, INT_MAX, FRAME_DIM, f->utf8 ? "  \u2191\u2193 activity" : "  up, down activity");
}

struct frame *top_layout(const struct top_state *s, int width, int height, bool utf8)
{
    int foot = s->live && height > 1, chart;
    struct frame *f;

    if (height == 0)
        return filled(s, width, 0, utf8, s->history ? 8 : 0);
    chart = s->history ? chart_room(s, width, height - foot, utf8) : 0;
    f = filled(s, width, height - foot, utf8, chart);
    if (!foot)
        return f;
    frame_grow(f, height);
    add_keys(s, f);
    return f;
}
