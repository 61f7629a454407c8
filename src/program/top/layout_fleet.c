/* Who does it: replicas and the servers they need. */
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "words.h"

enum { SERVERS_WEIGHT = 875, REPLICAS_WEIGHT = 870, BAD_REPLICA_WEIGHT = 560, REPLICA_WEIGHT = 280 };

#define LIST_MAX 64

static enum frame_tint tint_of(const char *state)
{
    if (strcmp(state, "ready") == 0)
        return FRAME_GOOD;
    return strcmp(state, "quiet") == 0 || strcmp(state, "draining") == 0 ? FRAME_WARN : FRAME_BAD;
}

/* "@1"; a daemon without a name of its own is just orderd. */
static const char *name_of(char out[64], const struct sale_replica *r)
{
    snprintf(out, 64, r->instance[0] ? "@%.40s" : "orderd", r->instance);
    return out;
}

static void add_servers(const struct top_state *s, struct sheet *p)
{
    sheet_line(p, SERVERS_WEIGHT, 100, "Servers");
    if (s->sale->dependency_count == 0)
        sheet_field(p, FRAME_PLAIN, "-");
    for (size_t i = 0; i < s->sale->dependency_count && i < LIST_MAX; i++) {
        const struct sale_dependency *d = &s->sale->dependencies[i];

        sheet_field(p,
                    !d->known ? FRAME_WARN
                    : d->up   ? FRAME_GOOD
                              : FRAME_BAD,
                    "%.40s %s", d->name,
                    !d->known ? "-"
                    : d->up   ? "up"
                              : "DOWN");
    }
}

/* "1 ready, 2 draining" in one line, for screens without room for more. */
static void add_states(const struct top_state *s, struct sheet *p)
{
    char name[64];

    sheet_line(p, REPLICAS_WEIGHT, 100, "Replicas");
    if (s->sale->replica_count == 0)
        sheet_field(p, FRAME_PLAIN, "-");
    for (size_t i = 0; i < s->sale->replica_count && i < LIST_MAX; i++) {
        const struct sale_replica *r = &s->sale->replicas[i];

        sheet_field(p, tint_of(r->state), "%s %.20s", name_of(name, r), r->state[0] ? r->state : "-");
    }
}

static void add_replica(const struct top_state *s, struct sheet *p, const struct sale_replica *r, int weight)
{
    char up[WORD_MAX], name[64];
    int64_t age = s->now < 0 || r->started_at < 0 ? SALE_UNKNOWN : s->now - r->started_at;
    bool good = strcmp(r->state, "ready") == 0, lost = strcmp(r->state, "lost") == 0;

    sheet_line(p, good ? weight : weight + BAD_REPLICA_WEIGHT - REPLICA_WEIGHT, 0, "");
    p->column = SHEET_INDENT;
    sheet_field(p, tint_of(r->state), "%-6s %-9.20s", name_of(name, r), r->state);
    if (lost && r->seen_at >= 0 && s->now >= 0)
        sheet_field(p, FRAME_PLAIN, "seen %s ago", word_clock(up, s->now - r->seen_at));
    else
        sheet_field(p, FRAME_PLAIN, "up %s", word_clock(up, age));
    if (r->why[0])
        sheet_rest(p, FRAME_PLAIN, r->why);
    else
        sheet_field(p, FRAME_DIM, "%.20s  %.64s  %.64s", r->version, r->host, r->admin);
}

void top_fleet(const struct top_state *s, struct sheet *p)
{
    add_servers(s, p);
    add_states(s, p);
    for (size_t i = 0; i < s->sale->replica_count && i < LIST_MAX; i++)
        add_replica(s, p, &s->sale->replicas[i], REPLICA_WEIGHT - (int)i);
}
