/* The table of several activities, a line each. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "sale_words.h"
#include "words.h"

enum { HEAD_WEIGHT = 870, CHOSEN_WEIGHT = 950, NEAR_WEIGHT = 860, ROW_WEIGHT = 480, ROW_LEAST = 20 };

/* Lines above and below the chosen one that are seen on a low screen too. */
#define NEAR 3

/* From the left, after the title, which takes what is left; all but it are as wide as their longest word. */
enum { STATE, CLOCK, LEFT, PERCENT, RATE, SOLD_OUT, DRIFT, COLUMN_COUNT };

static const struct {
    const char *head;
    int width;
    bool right;
} columns[COLUMN_COUNT] = {
    [STATE] = {"STATE", 9, false}, [CLOCK] = {"CLOCK", 11, false}, [LEFT] = {"LEFT", 9, true},
    [PERCENT] = {"", 5, true},     [RATE] = {"SOLD/S", 7, true},   [SOLD_OUT] = {"SOLD OUT", 8, true},
    [DRIFT] = {"DRIFT", 5, true},
};

struct row {
    char text[COLUMN_COUNT][WORD_MAX];
    enum frame_tint tint[COLUMN_COUNT];
};

/* Too narrow for all: what the chosen activity shows below anyway is left out, before the title gets too short. */
static int title_width(const struct sheet *p, bool *shown)
{
    static const struct {
        int column, least; /* of the title's columns, else this one goes */
    } dropped[] = {{SOLD_OUT, 18}, {RATE, 18}, {STATE, 18}, {PERCENT, 18}, {CLOCK, 18}, {DRIFT, 8}, {LEFT, 8}};
    int width = p->frame->width - 2;

    for (int c = 0; c < COLUMN_COUNT; c++) {
        shown[c] = true;
        width -= columns[c].width + 2;
    }
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped && width < dropped[i].least; i++) {
        shown[dropped[i].column] = false;
        width += columns[dropped[i].column].width + 2;
    }
    return width > 0 ? width : 0;
}

static void put_row(struct sheet *p, const struct row *r, const bool *shown, int from)
{
    for (int c = 0; c < COLUMN_COUNT; c++) {
        int end = from + 2 + columns[c].width, pad = columns[c].width - frame_columns(p->frame, r->text[c]);

        if (!shown[c])
            continue;
        frame_put(p->frame, p->rows - 1, from + 2 + (columns[c].right && pad > 0 ? pad : 0), end, r->tint[c],
                  r->text[c]);
        from = end;
    }
}

static void fill_row(const struct top_state *s, const struct sale_activity *a, struct row *r)
{
    memset(r, 0, sizeof *r);
    snprintf(r->text[STATE], WORD_MAX, "%.20s", a->state);
    r->tint[STATE] = strcmp(a->state, "running") == 0 ? FRAME_GOOD : FRAME_PLAIN;
    sale_clock_short(r->text[CLOCK], a, s->now);
    word_count(r->text[LEFT], a->left);
    word_percent(r->text[PERCENT], a->left, a->total);
    r->tint[LEFT] = r->tint[PERCENT] = sale_is_low(a) ? FRAME_WARN : FRAME_PLAIN;
    word_rate(r->text[RATE], a->rate);
    word_seconds(r->text[SOLD_OUT], a->sold_out_s);
    if (a->left == 0 && sale_is_running(a))
        strcpy(r->text[SOLD_OUT], "now");
    word_count(r->text[DRIFT], a->books.drift);
    r->tint[DRIFT] = sale_drift_tint(a);
}

static void add_heads(const struct top_state *s, struct sheet *p)
{
    bool shown[COLUMN_COUNT];
    int width = title_width(p, shown);
    struct row r = {0};
    char title[64], more[WORD_MAX];

    for (int c = 0; c < COLUMN_COUNT; c++) {
        strcpy(r.text[c], columns[c].head);
        r.tint[c] = FRAME_DIM;
    }
    sheet_line(p, HEAD_WEIGHT, 0, "");
    if (s->sale->activities_left_out > 0)
        snprintf(title, sizeof title, "ACTIVITIES, %s MORE", word_count(more, s->sale->activities_left_out));
    else
        snprintf(title, sizeof title, "%zu ACTIVITIES", s->sale->activity_count);
    frame_put(p->frame, p->rows - 1, 2, 2 + width, FRAME_DIM, title);
    put_row(p, &r, shown, 2 + width);
}

static void add_activity(const struct top_state *s, struct sheet *p, const struct sale_activity *a, int weight)
{
    bool shown[COLUMN_COUNT], chosen = a == top_chosen(s);
    int width = title_width(p, shown);
    char title[SALE_TITLE_MAX];
    struct row r;

    fill_row(s, a, &r);
    sheet_line(p, chosen ? CHOSEN_WEIGHT : weight, 0, "");
    if (chosen)
        frame_put(p->frame, p->rows - 1, 0, 2, FRAME_CHOSEN, "> ");
    frame_put(p->frame, p->rows - 1, 2, 2 + width, chosen ? FRAME_CHOSEN : FRAME_PLAIN, sale_title(title, a));
    put_row(p, &r, shown, 2 + width);
}

void top_activities(const struct top_state *s, struct sheet *p, int most)
{
    const struct sale_activity *chosen = top_chosen(s);
    int at = chosen ? (int)(chosen - s->sale->activities) : 0;

    add_heads(s, p);
    for (size_t i = 0; i < s->sale->activity_count; i++) {
        int away = (int)i > at ? (int)i - at : at - (int)i, weight = (away <= NEAR ? NEAR_WEIGHT : ROW_WEIGHT) - away;

        if (away <= most)
            add_activity(s, p, &s->sale->activities[i], weight > ROW_LEAST ? weight : ROW_LEAST);
    }
}
