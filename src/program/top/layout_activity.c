/* The chosen activity. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph.h"
#include "layout.h"
#include "sale_words.h"
#include "words.h"

enum {
    SALE_WEIGHT = 940,
    STOCK_WEIGHT = 930,
    UNPAID_WEIGHT = 918,
    BOOKS_WEIGHT = 925,
    SHARDS_WEIGHT = 300,
    BAD_SHARDS_WEIGHT = 895,
    CHART_WEIGHT = 200
};

/* Else the title has a line of its own. */
#define TITLE_MIN           16

#define COUNTED_LONG_AGO_MS 5000

/* A bar of less says nothing. */
#define BAR_MIN 6
#define BAR_MAX 50

/* Points of history that are looked at. */
#define CURVE_MAX 1024

static void add_title(const struct top_state *s, struct sheet *p, const struct sale_activity *a)
{
    enum frame_tint tint = sale_is_late(a, s->now) ? FRAME_WARN : sale_is_running(a) ? FRAME_GOOD : FRAME_PLAIN;
    char title[SALE_TITLE_MAX], phase[SALE_PHASE_MAX];
    int room;

    sale_phase(phase, a, s->now);
    sheet_line(p, SALE_WEIGHT, 10, "Sale");
    room = sheet_left(p) - frame_columns(p->frame, phase) - 2;
    if (room < TITLE_MIN) {
        sheet_field(p, FRAME_STRONG, "%s", sale_title(title, a));
        sheet_field(p, tint, "%s", phase);
        return;
    }
    p->column = frame_put(p->frame, p->rows - 1, p->column, p->column + room, FRAME_STRONG, sale_title(title, a));
    sheet_right(p, tint, phase);
}

static void write_stock(char *out, size_t size, const struct sale_activity *a)
{
    char percent[WORD_MAX], rate[WORD_MAX], time[WORD_MAX];

    snprintf(out, size, "%s  %s/s  ", word_percent(percent, a->left, a->total), word_rate(rate, a->rate));
    if (a->left == 0)
        snprintf(out + strlen(out), size - strlen(out), "sold out");
    else
        snprintf(out + strlen(out), size - strlen(out), "sold out in %s", word_seconds(time, a->sold_out_s));
}

/* The bar has what the words leave. */
static void add_stock(struct sheet *p, const struct sale_activity *a)
{
    double share = a->left >= 0 && a->total > 0 ? (double)a->left / (double)a->total : NAN;
    char left[WORD_MAX], total[WORD_MAX], units[3 * WORD_MAX], rest[4 * WORD_MAX];
    int width;

    snprintf(units, sizeof units, "%s of %s left", word_count(left, a->left), word_count(total, a->total));
    write_stock(rest, sizeof rest, a);
    sheet_line(p, STOCK_WEIGHT, 20, "Stock");
    width = sheet_left(p) - (int)strlen(units) - (int)strlen(rest) - 4;
    if (width >= BAR_MIN) {
        width = width < BAR_MAX ? width : BAR_MAX;
        graph_bar(p->frame, p->rows - 1, p->column, width, sale_is_low(a) ? FRAME_WARN : FRAME_GOOD, share);
        p->column += width;
        p->fresh = false;
    }
    sheet_field(p, sale_is_low(a) ? FRAME_WARN : FRAME_STRONG, "%s", units);
    sheet_field(p, FRAME_PLAIN, "%s", rest);
}

/* Counting orders takes the daemon a while where there are very many. */
static void add_counted(const struct top_state *s, struct sheet *p, const struct sale_activity *a)
{
    char ago[WORD_MAX];

    if (a->counted_at >= 0 && s->now - a->counted_at >= COUNTED_LONG_AGO_MS)
        sheet_field(p, FRAME_DIM, "counted %s ago", word_clock(ago, s->now - a->counted_at));
}

static void add_unpaid(const struct top_state *s, struct sheet *p, const struct sale_activity *a)
{
    char n[WORD_MAX];

    sheet_line(p, UNPAID_WEIGHT, 58, "Held");
    sheet_field(p, FRAME_PLAIN, "%s unpaid", word_count(n, a->held_unpaid));
    sheet_field(p, FRAME_PLAIN, "due soon %s", word_count(n, a->due_soon));
    sheet_field(p, a->overdue > 0 ? FRAME_WARN : FRAME_PLAIN, "overdue %s", word_count(n, a->overdue));
    sheet_field(p, FRAME_PLAIN, "paid %s", word_count(n, a->paid));
    sheet_field(p, FRAME_PLAIN, "released %s", word_count(n, a->closed));
    add_counted(s, p, a);
}

static void add_reconcile(const struct top_state *s, struct sheet *p, const struct sale_activity *a)
{
    char ago[WORD_MAX];
    bool broken = strcmp(a->verdict, "broken") == 0;

    if (a->held_unpaid == SALE_UNKNOWN) /* MySQL, where both are read, is away */
        sheet_field(p, FRAME_DIM, "reconciled -");
    else if (a->reconciled_at == SALE_UNKNOWN || !a->verdict[0])
        sheet_field(p, FRAME_DIM, "never reconciled");
    else
        sheet_field(p, broken ? FRAME_BAD : FRAME_PLAIN, "reconciled %s ago: %.20s",
                    word_clock(ago, s->now < 0 ? SALE_UNKNOWN : s->now - a->reconciled_at), a->verdict);
}

static void add_redis(struct sheet *p, const struct sale_activity *a)
{
    char n[4][WORD_MAX], gone[WORD_MAX + 16] = "";

    if (a->books.gone > 0)
        snprintf(gone, sizeof gone, ", gone %s", word_count(n[0], a->books.gone));
    sheet_field(p, FRAME_PLAIN, "Redis: left %s, held %s, sold %s%s, off %s", word_count(n[0], a->books.left),
                word_count(n[1], a->books.held), word_count(n[2], a->books.sold), gone,
                word_count(n[3], a->books.redis_off));
}

static void add_books(const struct top_state *s, struct sheet *p, const struct sale_activity *a)
{
    char n[3][WORD_MAX];

    sheet_line(p, BOOKS_WEIGHT, 235, "Books");
    sheet_field(p, sale_drift_tint(a), "drift %s", word_count(n[0], a->books.drift));
    sheet_field(p, FRAME_PLAIN, "in flight %s", word_count(n[0], a->books.in_flight));
    add_reconcile(s, p, a);
    add_redis(p, a);
    sheet_field(p, FRAME_PLAIN, "MySQL: left %s, orders %s, off %s", word_count(n[0], a->books.mysql_available),
                word_count(n[1], a->books.mysql_live), word_count(n[2], a->books.mysql_off));
}

static void add_shards(struct sheet *p, const struct sale_activity *a)
{
    bool bad = a->shards_missing > 0 || a->shards_damaged > 0;
    char n[WORD_MAX];

    sheet_line(p, bad ? BAD_SHARDS_WEIGHT : SHARDS_WEIGHT, 0, "Shards");
    sheet_field(p, FRAME_PLAIN, "%s", word_count(n, a->shards));
    sheet_field(p, a->shards_missing > 0 ? FRAME_BAD : FRAME_PLAIN, "missing %s", word_count(n, a->shards_missing));
    sheet_field(p, a->shards_damaged > 0 ? FRAME_BAD : FRAME_PLAIN, "damaged %s", word_count(n, a->shards_damaged));
    sheet_field(p, a->shards_paused > 0 ? FRAME_WARN : FRAME_PLAIN, "paused %s", word_count(n, a->shards_paused));
}

/* ---- the curve of its stock ---- */

static void add_chart_foot(struct sheet *p, int64_t span_ms)
{
    char ago[WORD_MAX];

    sheet_line(p, CHART_WEIGHT, 0, "");
    p->column = SHEET_INDENT;
    sheet_field(p, FRAME_DIM, "units left, %s ago", word_clock(ago, span_ms));
    sheet_right(p, FRAME_DIM, "now");
}

static void add_chart(const struct top_state *s, struct sheet *p, const struct sale_activity *a, int rows)
{
    double values[CURVE_MAX], top = a->total > 0 ? (double)a->total : 0;
    int width = p->frame->width - SHEET_INDENT, first = p->rows;
    int64_t span;
    size_t count;
    char n[WORD_MAX];

    count = sale_history_left(s->history, a->id, values, CURVE_MAX, &span);
    for (size_t i = 0; i < count; i++)
        top = fmax(top, isnan(values[i]) ? 0 : values[i]);
    for (int r = 0; r < rows; r++)
        sheet_line(p, CHART_WEIGHT, 0, r == 0 ? word_count(n, (int64_t)top) : r == rows - 1 ? "0" : "");
    graph_area(p->frame, first, rows, SHEET_INDENT, width, values, count, top);
    add_chart_foot(p, span);
}

void top_activity(const struct top_state *s, struct sheet *p, int chart_rows)
{
    const struct sale_activity *a = top_chosen(s);

    if (!a) {
        sheet_line(p, SALE_WEIGHT, 0, "Sale");
        if (s->activity)
            sheet_field(p, FRAME_WARN, "activity %" PRId64 " is not there: not approved yet, or settled", s->activity);
        else
            sheet_field(p, FRAME_DIM, "none is scheduled, running, or ended and not settled");
        return;
    }
    add_title(s, p, a);
    add_stock(p, a);
    if (chart_rows > 0 && s->history && p->frame->width >= 40)
        add_chart(s, p, a, chart_rows);
    add_unpaid(s, p, a);
    add_books(s, p, a);
    add_shards(p, a);
}
