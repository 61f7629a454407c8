/* orderctl dlq stats */
#include <inttypes.h>
#include <stdio.h>

#include "dlq.h"
#include "orderd/topology.h"
#include "record.h"

struct stats {
    struct ctl *ctl;
    struct table table;
    struct strbuf groups;
    int64_t letters[DEAD_LETTER_STATE_COUNT], oldest_open_ms, waiting; /* -1: not known */
};

static void record_group(struct strbuf *line, const struct dead_letter_count *c)
{
    record_open(line, NULL, '{');
    record_text(line, "state", dead_letter_state_name(c->state));
    record_slice(line, "reason", c->reason);
    record_slice(line, "queue", c->queue);
    dlq_record_activity(line, c->activity_id);
    record_number(line, "letters", c->letters);
    record_number(line, "deaths", c->times);
    record_number(line, "oldest_ms", c->oldest_ms);
    record_close(line, '}');
}

static void add_group(void *arg, const struct dead_letter_count *c)
{
    struct stats *s = arg;

    s->letters[c->state] += c->letters;
    if (c->state == DEAD_LETTER_OPEN && c->oldest_ms > s->oldest_open_ms)
        s->oldest_open_ms = c->oldest_ms;
    if (s->ctl->json) {
        record_group(&s->groups, c);
        return;
    }
    table_text(&s->table, dead_letter_state_name(c->state), dlq_tint(c->state));
    table_slice(&s->table, c->reason, TINT_NONE);
    table_slice(&s->table, c->queue.len ? c->queue : slice_of("-"), TINT_NONE);
    dlq_table_activity(&s->table, c->activity_id);
    table_number(&s->table, c->letters);
    table_number(&s->table, c->times);
    table_span(&s->table, c->oldest_ms);
}

static void print_record(const struct stats *s)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    if (s->waiting < 0)
        record_null(&line, "in_queue");
    else
        record_number(&line, "in_queue", s->waiting);
    for (int i = 0; i < DEAD_LETTER_STATE_COUNT; i++)
        record_number(&line, dead_letter_state_name((enum dead_letter_state)i), s->letters[i]);
    record_number(&line, "oldest_open_ms", s->oldest_open_ms);
    record_open(&line, "groups", '[');
    strbuf_add(&line, s->groups.data ? s->groups.data : "", s->groups.len);
    record_close(&line, ']');
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

static void print_text(struct stats *s)
{
    int64_t all = 0;

    for (int i = 0; i < DEAD_LETTER_STATE_COUNT; i++)
        all += s->letters[i];
    table_end(s->ctl, &s->table);
    if (all == 0)
        print_note(s->ctl, "no dead letter was taken so far");
    else
        putchar('\n');
    if (s->waiting >= 0)
        printf("%" PRId64 " in the queue %s, %" PRId64 " open.\n", s->waiting, topology_name(TOPOLOGY_QUEUE_DEAD),
               s->letters[DEAD_LETTER_OPEN]);
    if (s->waiting > 0)
        print_note(s->ctl, "`orderctl dlq drain` takes what is in the queue");
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

bool ctl_dlq_stats(struct ctl *ctl, struct error *err)
{
    static const char *const heads[] = {"STATE", "REASON", "QUEUE", "-ACTIVITY", "-LETTERS", "-DEATHS", "-OLDEST"};
    struct stats s = {.ctl = ctl};
    struct db *db = ctl_open_schema(ctl, err);
    bool ok;

    table_begin(&s.table, heads, sizeof heads / sizeof *heads);
    ok = db && dead_letter_store_count(db, add_group, &s, err);
    db_close(&db);
    if (ok) {
        ask_queue(&s);
        if (ctl->json)
            print_record(&s);
        else
            print_text(&s);
    }
    if (!ok || ctl->json)
        table_end(ctl, &s.table);
    strbuf_release(&s.groups);
    return ok;
}
