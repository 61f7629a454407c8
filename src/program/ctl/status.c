/* orderctl status */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "endpoint.h"
#include "table.h"
#include "status.h"

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static int64_t number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static bool is(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

/* "orderd 0.1.0 @1: running, ready; up 3h" */
static void print_head(const struct ctl *ctl, const json_t *s)
{
    const char *instance = text_of(s, "instance");
    char up[SPAN_TEXT];

    printf("orderd %s%s%s: %s, ", text_of(s, "version"), instance[0] ? " @" : "", instance, text_of(s, "phase"));
    print_word(ctl, is(s, "ready") ? "ready" : "not ready", 0, is(s, "ready") ? TINT_GOOD : TINT_BAD);
    printf("; up %s\n", span_text(up, number_of(s, "uptime_ms")));
    if (is(s, "quiet") && strcmp(text_of(s, "phase"), "starting") != 0)
        printf("It was told to take nothing; %" PRId64 " messages are in hand. `orderctl resume%s%s` ends it.\n",
               number_of(s, "in_hand"), instance[0] ? " " : "", instance);
    else if (text_of(s, "why")[0])
        printf("It waits: %s\n", text_of(s, "why"));
    if (text_of(s, "reload_refused")[0])
        printf("The last reload was refused: %s\n", text_of(s, "reload_refused"));
    if (!is(s, "live"))
        printf("The thread %s is stuck.\n", text_of(s, "stuck"));
}

static void add_count(struct table *t, const char *what, int64_t rate, int64_t total)
{
    table_text(t, what, TINT_NONE);
    table_number(t, rate);
    table_number(t, total);
}

static void print_counts(const struct ctl *ctl, const json_t *s)
{
    static const char *const heads[] = {"", "-A SECOND", "-SINCE ITS START"};
    static const struct {
        const char *what, *rate, *total;
    } rows[] = {
        {"messages received", "received", "messages_received_total"},
        {"orders created", "created", "orders_created_total"},
        {"orders paid", "paid", "orders_paid_total"},
        {"orders closed", "closed", "orders_closed_total"},
        {"dead letters", "dead_lettered", "orders_dead_lettered_total"},
    };
    const json_t *rates = json_object_get(s, "rates"), *totals = json_object_get(s, "totals");
    struct table t;

    table_begin(&t, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_count(&t, rows[i].what, number_of(rates, rows[i].rate), number_of(totals, rows[i].total));
    table_end(ctl, &t);
}

/* Its number is of the last time it did. */
static bool relay_looks(const json_t *s)
{
    const json_t *w;
    size_t i;

    json_array_foreach(json_object_get(s, "workers"), i, w)
    {
        if (strcmp(text_of(w, "role"), "relay") == 0)
            return is(w, "ready");
    }
    return true;
}

static void print_times(const json_t *s)
{
    const json_t *rates = json_object_get(s, "rates");
    char oldest[SPAN_TEXT];

    if (number_of(rates, "p99_us") > 0)
        printf("From reservation to commit, in the last second: half within %.1f ms, 99 %% within %.1f ms.\n",
               (double)number_of(rates, "p50_us") / 1000, (double)number_of(rates, "p99_us") / 1000);
    if (number_of(s, "relay_oldest_ms") > 0)
        printf("The oldest local message is late by %s.\n", span_text(oldest, number_of(s, "relay_oldest_ms")));
    else
        puts(relay_looks(s) ? "No local message is late." : "The relay cannot look whether a local message is late.");
}

static void print_workers(const struct ctl *ctl, const json_t *s)
{
    static const char *const heads[] = {"THREAD", "STATE", "-FOR", "WHY"};
    const json_t *workers = json_object_get(s, "workers"), *w;
    struct table t;
    size_t i;

    if (json_array_size(workers) == 0)
        return;
    putchar('\n');
    table_begin(&t, heads, sizeof heads / sizeof *heads);
    json_array_foreach(workers, i, w)
    {
        if (strcmp(text_of(w, "role"), "helper") == 0 && is(w, "ready"))
            continue;
        table_text(&t, text_of(w, "name"), TINT_NONE);
        table_text(&t, text_of(w, "state"), is(w, "ready") ? TINT_GOOD : TINT_BAD);
        if (number_of(w, "unready_ms") > 0)
            table_span(&t, number_of(w, "unready_ms"));
        else
            table_text(&t, "", TINT_NONE);
        table_text(&t, text_of(w, "why"), TINT_NONE);
    }
    table_end(ctl, &t);
}

static void add_thread(struct table *t, const json_t *w)
{
    char seen[SPAN_TEXT];

    table_text(t, text_of(w, "name"), TINT_NONE);
    table_text(t, text_of(w, "state"), is(w, "ready") ? TINT_GOOD : TINT_BAD);
    table_span(t, number_of(w, "state_ms"));
    table_number(t, number_of(w, "in_hand"));
    table_span(t, number_of(w, "beat_age_ms"));
    table_text(t, text_of(w, "last_error")[0] ? span_text(seen, number_of(w, "last_error_ms")) : "", TINT_NONE);
    table_text(t, text_of(w, "last_error"), TINT_NONE);
}

/* SEEN: when it last went round. AGO belongs to the failure behind it. */
static void print_threads(const struct ctl *ctl, const json_t *s)
{
    static const char *const heads[] = {"THREAD", "STATE", "-FOR", "-IN HAND", "-SEEN", "-AGO", "LAST FAILURE"};
    const json_t *workers = json_object_get(s, "workers"), *w;
    struct table t;
    size_t i;

    putchar('\n');
    table_begin(&t, heads, sizeof heads / sizeof *heads);
    json_array_foreach(workers, i, w) add_thread(&t, w);
    table_end(ctl, &t);
}

static void print_text(struct ctl *ctl, const json_t *s)
{
    print_head(ctl, s);
    putchar('\n');
    print_counts(ctl, s);
    putchar('\n');
    print_times(s);
    if (ctl->values[CTL_OPTION_status_threads].set)
        print_threads(ctl, s);
    else
        print_workers(ctl, s);
    status_print_fleet(ctl);
}

bool ctl_status(struct ctl *ctl, struct error *err)
{
    const char *instance = ctl->operand_count > 0 ? ctl->operands[0] : "";
    struct strbuf body = STRBUF_INIT;
    json_t *s = endpoint_status(ctl, instance, &body, err);

    if (s && ctl->json)
        fwrite(body.data, 1, body.len, stdout);
    else if (s)
        print_text(ctl, s);
    if (s && !is(s, "ready"))
        ctl->code = EXIT_FAILED;
    strbuf_release(&body);
    json_decref(s);
    return s != NULL;
}
