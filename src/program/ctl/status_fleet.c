/* orderctl status: what the orderd knows of all the others, and of the sale. */
#include <stdio.h>
#include <string.h>

#include "endpoint.h"
#include "orderd/sale_view.h"
#include "orderd/top.h"
#include "table.h"
#include "status.h"

static void add_known(struct table *t, int64_t n)
{
    if (n == SALE_UNKNOWN)
        table_text(t, "-", TINT_NONE);
    else
        table_number(t, n);
}

/* From then to `at`. */
static void add_since(struct table *t, int64_t then, int64_t at)
{
    if (then < 0 || at < then)
        table_text(t, "-", TINT_NONE);
    else
        table_span(t, at - then);
}

static void print_replicas(const struct ctl *ctl, const struct sale_view *v)
{
    static const char *const heads[] = {"REPLICA", "STATE", "-UP", "-SEEN", "?HOST", "?VERSION", "WHY"};
    struct table t;

    putchar('\n');
    table_begin(&t, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < v->replica_count; i++) {
        const struct sale_replica *r = &v->replicas[i];

        table_text(&t, r->instance[0] ? r->instance : "-", TINT_NONE);
        table_text(&t, r->state, strcmp(r->state, "ready") == 0 ? TINT_GOOD : TINT_BAD);
        add_since(&t, r->started_at, v->at);
        add_since(&t, r->seen_at, v->at);
        table_text(&t, r->host, TINT_NONE);
        table_text(&t, r->version, TINT_NONE);
        table_text(&t, r->why, TINT_NONE);
    }
    table_end(ctl, &t);
}

static void print_activities(const struct ctl *ctl, const struct sale_view *v)
{
    static const char *const heads[] = {"-ACTIVITY", "STATE", "-LEFT", "-OF", "-UNPAID", "-PAID", "-DRIFT", "TITLE"};
    struct table t;

    if (v->activity_count > 0)
        putchar('\n');
    table_begin(&t, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < v->activity_count; i++) {
        const struct sale_activity *a = &v->activities[i];

        add_known(&t, a->id);
        table_text(&t, a->state, strcmp(a->state, "running") == 0 ? TINT_GOOD : TINT_NONE);
        add_known(&t, a->left);
        add_known(&t, a->total);
        add_known(&t, a->held_unpaid);
        add_known(&t, a->paid);
        add_known(&t, a->books.drift);
        table_text(&t, a->title, TINT_NONE);
    }
    table_end(ctl, &t);
}

struct told {
    const struct ctl *ctl;
    size_t count;
};

static void print_alarm(void *arg, bool bad, const char *sentence, const char *command)
{
    struct told *told = arg;

    if (told->count++ == 0)
        putchar('\n');
    print_word(told->ctl, sentence, 0, bad ? TINT_BAD : TINT_CHANGED);
    putchar('\n');
    if (command[0])
        printf("    %s\n", command);
}

void status_print_fleet(struct ctl *ctl)
{
    const char *instance = ctl->operand_count > 0 ? ctl->operands[0] : "";
    struct strbuf body = STRBUF_INIT;
    struct error ignored = {0};
    struct sale_view *v = NULL;
    int status = 0;

    if (endpoint_get(ctl, instance, "/sale", &status, &body, &ignored) && status == 200 && body.len > 0)
        v = sale_view_parse(body.data, body.len, &ignored);
    strbuf_release(&body);
    if (v && v->at != SALE_UNKNOWN) { /* it has read anything yet */
        struct told told = {ctl, 0};

        print_replicas(ctl, v);
        print_activities(ctl, v);
        top_tell_alarms(v, v->at, print_alarm, &told);
    }
    sale_view_destroy(&v);
}
