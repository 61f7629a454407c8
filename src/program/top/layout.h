/* What `orderctl top` shows, as a pure function of what is known: no terminal, no clock, no network. */
#ifndef ORDERD_TOP_LAYOUT_H
#define ORDERD_TOP_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "orderd/sale_view.h"
#include "sheet.h"

/* What the documents of the last minutes said: one of each, oldest first; NAN: not known then. */
#define PAST_MAX 256

struct top_past {
    double created[PAST_MAX], backlog[PAST_MAX];
    size_t count;
};

void top_past_add(struct top_past *past, const struct sale_view *sale);

struct top_state {
    const struct sale_view *sale;
    const struct sale_history *history; /* NULL: there is none */
    const struct top_past *past;
    int64_t now;         /* wall ms, by the daemon's clock */
    int64_t interval_ms; /* between two documents */
    int64_t away_ms;     /* how long no answer has come; 0: the last one did */
    const char *why;     /* of that */
    int64_t old_ms;      /* how long the answers have said the same; 0: they are fresh */
    int64_t activity;    /* which is chosen; 0: the first */
    bool live, paused;   /* live: keys are taken */
};

/* height 0: as many rows as it takes. */
struct frame *top_layout(const struct top_state *state, int width, int height, bool utf8);
struct frame *top_layout_help(int width, int height, bool utf8);

/* The chosen activity; NULL: it is not there, or there is none. */
const struct sale_activity *top_chosen(const struct top_state *state);

/* The activity `step` lines below the chosen one (negative: above), at most the first or the last; 0: there is none. */
int64_t top_step(const struct top_state *state, int step);

/* ---- the parts ---- */

/* What asks for a person, worst first: alarms of top_alarms. */
#define ALARM_MAX 48

struct alarm {
    enum frame_tint tint; /* ALARM, BAD or WARN */
    char text[512], command[160];
};

struct alarms {
    struct alarm list[ALARM_MAX];
    size_t count;
};

void top_alarms(const struct top_state *state, struct alarms *alarms);

/* How old the list of replicas is, in ms, where it is not of now: it comes from MySQL. Else 0. */
int64_t top_fleet_age(const struct top_state *state);

void top_activities(const struct top_state *state, struct sheet *sheet, int most);
void top_activity(const struct top_state *state, struct sheet *sheet, int chart_rows);
void top_traffic(const struct top_state *state, struct sheet *sheet);
void top_fleet(const struct top_state *state, struct sheet *sheet);

#endif
