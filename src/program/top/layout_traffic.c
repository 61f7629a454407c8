/* What flows: orders, time to commit, queues, local messages, dead letters. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph.h"
#include "layout.h"
#include "words.h"

enum {
    ORDERS_WEIGHT = 912,
    COMMIT_WEIGHT = 905,
    BACKLOG_WEIGHT = 900,
    DEAD_WEIGHT = 890,
    RELAY_WEIGHT = 885,
    RATES_WEIGHT = 880,
    QUEUES_WEIGHT = 290,
    REASON_WEIGHT = 700
};

/* As config/prometheus/orderd.rules.yml has it. */
#define COMMIT_LATE_US INT64_C(1000000)
#define RELAY_LATE_MS  60000
#define DRAIN_LATE_S   60

/* No more lines than this for what may be any number. */
#define LIST_MAX 40

static void add_spark(struct sheet *p, const double *values, size_t count)
{
    int width = sheet_left(p) - 2;

    if (width < 8 || count == 0)
        return;
    graph_spark(p->frame, p->rows - 1, p->column + 2, width, values, count);
}

static void add_rate(struct sheet *p, enum frame_tint tint, const char *name, double rate)
{
    char n[WORD_MAX];

    sheet_field(p, rate > 0 ? tint : FRAME_PLAIN, "%s %s", name, word_rate(n, rate));
}

static void add_rates(const struct sale_rates *r, struct sheet *p)
{
    sheet_line(p, RATES_WEIGHT, 30, "Rates/s");
    add_rate(p, FRAME_PLAIN, "received", r->received);
    add_rate(p, FRAME_PLAIN, "duplicate", r->duplicate);
    add_rate(p, FRAME_WARN, "retried", r->retried);
    add_rate(p, FRAME_WARN, "rejected", r->rejected);
    add_rate(p, FRAME_BAD, "dead", r->dead_lettered);
    add_rate(p, FRAME_PLAIN, "paid", r->paid);
    add_rate(p, FRAME_PLAIN, "closed", r->closed);
    add_rate(p, FRAME_PLAIN, "units returned", r->units_returned);
}

static void add_orders(const struct top_state *s, struct sheet *p)
{
    char n[WORD_MAX];

    sheet_line(p, ORDERS_WEIGHT, 0, "Orders");
    sheet_field(p, FRAME_STRONG, "%s/s", word_rate(n, s->sale->rates.created));
    if (p->column < SHEET_INDENT + 8)
        p->column = SHEET_INDENT + 8;
    add_spark(p, s->past->created, s->past->count);
}

static void add_commit(const struct top_state *s, struct sheet *p)
{
    char n[WORD_MAX];
    bool late = s->sale->p99_us > COMMIT_LATE_US;

    sheet_line(p, COMMIT_WEIGHT, 0, "Commit");
    sheet_field(p, FRAME_PLAIN, "p50 %s", word_us(n, s->sale->p50_us));
    sheet_field(p, late ? FRAME_WARN : FRAME_PLAIN, "p99 %s", word_us(n, s->sale->p99_us));
    sheet_rest(p, FRAME_DIM, "from reservation to commit");
}

static void add_backlog(const struct top_state *s, struct sheet *p)
{
    char n[WORD_MAX];

    sheet_line(p, BACKLOG_WEIGHT, 0, "Backlog");
    sheet_field(p, s->sale->drain_s > DRAIN_LATE_S ? FRAME_WARN : FRAME_PLAIN, "%s %s", word_count(n, s->sale->backlog),
                s->sale->backlog == 1 ? "message" : "messages");
    sheet_field(p, FRAME_PLAIN, "done in %s", word_seconds(n, s->sale->drain_s));
    add_spark(p, s->past->backlog, s->past->count);
}

/* Those that hold something; the others say nothing. */
static void add_queues(const struct top_state *s, struct sheet *p)
{
    int shown = 0;
    char n[WORD_MAX];

    for (size_t i = 0; i < s->sale->queue_count && shown < LIST_MAX; i++) {
        const struct sale_queue *q = &s->sale->queues[i];

        if (q->ready == 0)
            continue;
        if (shown++ == 0)
            sheet_line(p, QUEUES_WEIGHT, 50, "Queues");
        sheet_field(p, q->consumers == 0 ? FRAME_WARN : FRAME_PLAIN, "%.60s %s%s", q->name, word_count(n, q->ready),
                    q->consumers == 0 ? " (no consumer)" : "");
    }
}

static void add_relay(const struct top_state *s, struct sheet *p)
{
    const struct sale_view *v = s->sale;
    char n[WORD_MAX];

    sheet_line(p, RELAY_WEIGHT, 100, "Relay");
    if (v->relay_oldest_ms == 0)
        sheet_field(p, FRAME_PLAIN, "nothing late");
    else
        sheet_field(p, v->relay_oldest_ms > RELAY_LATE_MS ? FRAME_WARN : FRAME_PLAIN, "oldest late by %s",
                    word_us(n, v->relay_oldest_ms == SALE_UNKNOWN || v->relay_oldest_ms > INT64_MAX / 1000
                                   ? SALE_UNKNOWN
                                   : v->relay_oldest_ms * 1000));
    sheet_field(p, FRAME_PLAIN, "pending %s", word_count(n, v->relay_pending));
    sheet_field(p, v->relay_quarantined > 0 ? FRAME_BAD : FRAME_PLAIN, "quarantined %s",
                word_count(n, v->relay_quarantined));
}

/* ---- dead letters ---- */

/* The command says the reason too, so where it fits it is enough. */
static void add_reason(struct sheet *p, const struct sale_reason *r, int weight)
{
    bool fits = r->command[0] && SHEET_INDENT + 10 + frame_columns(p->frame, r->command) <= p->frame->width;
    char n[WORD_MAX];

    sheet_line(p, weight, 0, "");
    p->column = SHEET_INDENT;
    sheet_field(p, FRAME_PLAIN, "%-7s", word_count(n, r->open));
    if (!fits || !strstr(r->command, r->reason))
        sheet_field(p, FRAME_PLAIN, "%.40s", r->reason[0] ? r->reason : "-");
    if (fits)
        sheet_field(p, FRAME_STRONG, "%s", r->command);
}

static void add_dead(const struct top_state *s, struct sheet *p)
{
    const struct sale_view *v = s->sale;
    char n[WORD_MAX];
    int count = v->reason_count < LIST_MAX ? (int)v->reason_count : LIST_MAX;

    sheet_line(p, DEAD_WEIGHT, 100, "Dead");
    sheet_field(p, v->dead_open > 0 ? FRAME_BAD : FRAME_PLAIN, "open %s", word_count(n, v->dead_open));
    sheet_field(p, v->dead_queue > 0 ? FRAME_BAD : FRAME_PLAIN, "in the queue %s", word_count(n, v->dead_queue));
    if (v->dead_queue > 0)
        sheet_field(p, FRAME_STRONG, "orderctl dlq drain");
    else if (v->dead_open > 0 && count == 0)
        sheet_field(p, FRAME_STRONG, "orderctl dlq list --state open");
    for (int i = 0; i < count; i++)
        add_reason(p, &v->reasons[i], REASON_WEIGHT - i);
}

void top_traffic(const struct top_state *s, struct sheet *p)
{
    add_orders(s, p);
    add_rates(&s->sale->rates, p);
    add_commit(s, p);
    add_backlog(s, p);
    add_queues(s, p);
    add_relay(s, p);
    add_dead(s, p);
}
