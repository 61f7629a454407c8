/* orderctl dlq stats */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dlq.h"
#include "orderd/topology.h"
#include "record.h"

#define BY_TIME    (DEAD_LETTER_BY_MINUTE | DEAD_LETTER_BY_HOUR | DEAD_LETTER_BY_DAY)
#define BY_DEFAULT (DEAD_LETTER_BY_STATE | DEAD_LETTER_BY_REASON | DEAD_LETTER_BY_QUEUE | DEAD_LETTER_BY_ACTIVITY)

struct stats {
    struct ctl *ctl;
    struct dlq_selection chosen;
    unsigned by;
    struct table table;
    struct strbuf groups;
    int64_t letters[DEAD_LETTER_STATE_COUNT], oldest_open_ms, waiting; /* -1: not known */
};

/* ---- JSON ---- */

static void record_states(struct strbuf *line, const int64_t letters[DEAD_LETTER_STATE_COUNT])
{
    for (int i = 0; i < DEAD_LETTER_STATE_COUNT; i++)
        record_number(line, dead_letter_state_name((enum dead_letter_state)i), letters[i]);
}

static void record_group(const struct stats *s, struct strbuf *line, const struct dead_letter_count *c)
{
    record_open(line, NULL, '{');
    if (s->by & BY_TIME)
        record_time(line, "from", c->from);
    if (s->by & DEAD_LETTER_BY_STATE)
        record_text(line, "state", dead_letter_state_name(c->state));
    if (s->by & DEAD_LETTER_BY_REASON)
        record_slice(line, "reason", c->reason);
    if (s->by & DEAD_LETTER_BY_QUEUE)
        record_slice(line, "queue", c->queue);
    if (s->by & DEAD_LETTER_BY_ACTIVITY)
        dlq_record_activity(line, c->activity_id);
    record_number(line, "letters", c->letters);
    if (!(s->by & DEAD_LETTER_BY_STATE))
        record_states(line, c->in_state);
    record_number(line, "deaths", c->times);
    record_number(line, "oldest_ms", c->oldest_ms);
    record_close(line, '}');
}

static void print_record(const struct stats *s)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    if (s->waiting < 0)
        record_null(&line, "in_queue");
    else
        record_number(&line, "in_queue", s->waiting);
    record_states(&line, s->letters);
    record_number(&line, "oldest_open_ms", s->oldest_open_ms);
    record_open(&line, "groups", '[');
    strbuf_add(&line, s->groups.data ? s->groups.data : "", s->groups.len);
    record_close(&line, ']');
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

/* ---- text ---- */

static void begin_table(struct stats *s)
{
    const char *heads[TABLE_COLUMNS_MAX];
    size_t n = 0;

    if (s->by & BY_TIME)
        heads[n++] = "FROM";
    if (s->by & DEAD_LETTER_BY_STATE)
        heads[n++] = "STATE";
    if (s->by & DEAD_LETTER_BY_REASON)
        heads[n++] = "REASON";
    if (s->by & DEAD_LETTER_BY_QUEUE)
        heads[n++] = "QUEUE";
    if (s->by & DEAD_LETTER_BY_ACTIVITY)
        heads[n++] = "-ACTIVITY";
    heads[n++] = "-LETTERS";
    if (!(s->by & DEAD_LETTER_BY_STATE))
        heads[n++] = "-OPEN";
    heads[n++] = "-DEATHS";
    heads[n++] = "-OLDEST";
    table_begin(&s->table, heads, n);
}

static void add_row(struct stats *s, const struct dead_letter_count *c)
{
    struct table *t = &s->table;

    if (s->by & BY_TIME)
        table_time(t, c->from);
    if (s->by & DEAD_LETTER_BY_STATE)
        table_text(t, dead_letter_state_name(c->state), dlq_tint(c->state));
    if (s->by & DEAD_LETTER_BY_REASON)
        table_slice(t, c->reason, TINT_NONE);
    if (s->by & DEAD_LETTER_BY_QUEUE)
        table_slice(t, c->queue.len ? c->queue : slice_of("-"), TINT_NONE);
    if (s->by & DEAD_LETTER_BY_ACTIVITY)
        dlq_table_activity(t, c->activity_id);
    table_number(t, c->letters);
    if (!(s->by & DEAD_LETTER_BY_STATE))
        table_number(t, c->in_state[DEAD_LETTER_OPEN]);
    table_number(t, c->times);
    table_span(t, c->oldest_ms);
}

static void print_text(struct stats *s)
{
    int64_t all = 0;

    for (int i = 0; i < DEAD_LETTER_STATE_COUNT; i++)
        all += s->letters[i];
    table_end(s->ctl, &s->table);
    if (all == 0)
        print_note(s->ctl, s->chosen.named || s->chosen.filtered ? "there is no such letter"
                                                                 : "no dead letter was taken so far");
    else
        putchar('\n');
    if (s->waiting >= 0)
        printf("%" PRId64 " in the queue %s, %" PRId64 " open.\n", s->waiting, topology_name(TOPOLOGY_QUEUE_DEAD),
               s->letters[DEAD_LETTER_OPEN]);
    if (s->waiting > 0)
        print_note(s->ctl, "`orderctl dlq drain` takes what is in the queue");
}

static void add_group(void *arg, const struct dead_letter_count *c)
{
    struct stats *s = arg;

    if (s->ctl->json)
        record_group(s, &s->groups, c);
    else
        add_row(s, c);
}

/* ---- counting ---- */

static void add_total(void *arg, const struct dead_letter_count *c)
{
    struct stats *s = arg;

    s->letters[c->state] = c->letters;
    if (c->state == DEAD_LETTER_OPEN)
        s->oldest_open_ms = c->oldest_ms;
}

static bool count(struct stats *s, struct error *err)
{
    struct db *db = ctl_open_schema(s->ctl, err);
    struct dead_letter_filter *f = &s->chosen.filter;
    bool ok = db && dlq_select_times(s->ctl, db, &s->chosen, err);

    if (s->chosen.named) {
        f->ids = s->chosen.ids.list;
        f->id_count = s->chosen.ids.count;
    }
    if (!s->chosen.named || f->id_count)
        ok = ok && dead_letter_store_count(db, f, DEAD_LETTER_BY_STATE, add_total, s, err) &&
             dead_letter_store_count(db, f, s->by, add_group, s, err);
    db_close(&db);
    return ok;
}

/* The table is worth seeing without the queue. */
static void ask_queue(struct stats *s)
{
    struct error err = {0};
    struct broker *broker = ctl_open_broker(s->ctl, &err);
    uint32_t messages, consumers;

    s->waiting = -1;
    if (broker && broker_queue_depth(broker, topology_name(TOPOLOGY_QUEUE_DEAD), &messages, &consumers, &err)) {
        s->waiting = messages;
    } else {
        print_warning("the queue cannot be looked at: %s", err.text);
        s->ctl->advice[0] = '\0';
        s->ctl->code = EXIT_PARTIAL;
    }
    ctl_close_broker(&broker);
}

/* The bits of CHOICES are those of enum dead_letter_by: both stand in this order. */
static bool read_by(struct stats *s, struct error *err)
{
    const struct ctl_value *by = &s->ctl->values[CTL_OPTION_dlq_stats_by];
    unsigned time;

    s->by = by->set ? (unsigned)by->number : BY_DEFAULT;
    time = s->by & BY_TIME;
    return (time & (time - 1)) == 0 || ctl_misuse(s->ctl, err, "--by takes one of minute, hour and day");
}

bool ctl_dlq_stats(struct ctl *ctl, struct error *err)
{
    struct stats s = {.ctl = ctl};
    bool ok = read_by(&s, err) && dlq_select(ctl, false, &s.chosen, err);

    if (ok)
        begin_table(&s);
    ok = ok && count(&s, err);
    if (ok)
        ask_queue(&s);
    if (ok && ctl->json)
        print_record(&s);
    else if (ok)
        print_text(&s);
    else
        free(s.table.list);
    dlq_select_free(&s.chosen);
    strbuf_release(&s.groups);
    return ok;
}
