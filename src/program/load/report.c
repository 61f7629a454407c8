#include "report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "orderd/check.h"

#define SENTENCE_COLUMNS 79

static const struct {
    const char *name, *what, *broken;
} checks[] = {
#define X(check, name, what, broken) [REPORT_##check] = {name, what, broken},
#include "orderd/tbl/load_check.h"
#undef X
};

void report_measure(struct report *r, const char *key, const char *label, double value, int decimals, const char *unit)
{
    CHECK(r->fact_count < REPORT_FACTS_MAX);
    r->facts[r->fact_count++] = (struct report_fact){key, label, unit, value, decimals};
}

void report_fact(struct report *r, const char *key, const char *label, int64_t value)
{
    report_measure(r, key, label, (double)value, 0, "");
}

static bool holds(enum report_relation relation, int64_t expected, int64_t found)
{
    switch (relation) {
    case REPORT_EQUAL:
        return found == expected;
    case REPORT_AT_MOST:
        return found <= expected;
    case REPORT_AT_LEAST:
        return found >= expected;
    }
    return false;
}

void report_check(struct report *r, enum report_check_kind kind, enum report_relation relation, int64_t expected,
                  int64_t found)
{
    struct report_check *c = &r->checks[kind];

    c->state = holds(relation, expected, found) ? REPORT_GOOD : REPORT_BROKEN;
    c->relation = relation;
    c->expected = expected;
    c->found = found;
}

void report_skip(struct report *r, enum report_check_kind kind, const char *why)
{
    r->checks[kind] = (struct report_check){.state = REPORT_SKIPPED, .why_skipped = why};
}

void report_example(struct report *r, enum report_check_kind kind, const char *fmt, ...)
{
    struct report_check *c = &r->checks[kind];
    va_list ap;

    if (c->example_count == REPORT_EXAMPLES_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(c->examples[c->example_count++], sizeof c->examples[0], fmt, ap);
    va_end(ap);
}

bool report_good(const struct report *r)
{
    for (int i = 0; i < REPORT_CHECKS; i++) {
        if (r->checks[i].state == REPORT_BROKEN)
            return false;
    }
    return true;
}

void report_broken_sentences(const struct report *r, struct strbuf *out)
{
    for (int i = 0; i < REPORT_CHECKS; i++) {
        if (r->checks[i].state != REPORT_BROKEN)
            continue;
        if (out->len > 0)
            strbuf_add_str(out, "; ");
        strbuf_addf(out, "%s (%s)", checks[i].broken, checks[i].name);
    }
}

void report_number(struct strbuf *out, double value, int decimals)
{
    char digits[64];
    size_t whole, i = 0;

    snprintf(digits, sizeof digits, "%.*f", decimals, value);
    if (digits[0] == '-')
        strbuf_add_char(out, digits[i++]);
    whole = strcspn(digits, ".") - i;
    for (; digits[i]; i++) {
        strbuf_add_char(out, digits[i]);
        if (digits[i] != '.' && whole > 1 && --whole % 3 == 0)
            strbuf_add_char(out, ',');
    }
}

/* ---- the table ---- */

static void add_right(struct strbuf *out, const char *before, double value, int decimals, int width)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_add_str(&text, before);
    report_number(&text, value, decimals);
    strbuf_addf(out, "%*s", width, text.data);
    strbuf_release(&text);
}

static void table_facts(const struct report *r, struct strbuf *out)
{
    for (size_t i = 0; i < r->fact_count; i++) {
        const struct report_fact *f = &r->facts[i];

        if (r->brief && f->unit[0])
            continue;
        strbuf_addf(out, "  %-44s", f->label);
        add_right(out, "", f->value, f->decimals, 14);
        strbuf_addf(out, "%s%s\n", f->unit[0] ? " " : "", f->unit);
    }
}

static void table_check(const struct report *r, int kind, bool color, struct strbuf *out)
{
    static const char *const relations[] = {[REPORT_EQUAL] = "", [REPORT_AT_MOST] = "<= ", [REPORT_AT_LEAST] = ">= "};
    const struct report_check *c = &r->checks[kind];
    bool good = c->state == REPORT_GOOD;

    strbuf_addf(out, "  %-13s %-47s", checks[kind].name, checks[kind].what);
    if (c->state == REPORT_SKIPPED) {
        strbuf_addf(out, " not checked: %s\n", c->why_skipped);
        return;
    }
    add_right(out, relations[c->relation], (double)c->expected, 0, 14);
    add_right(out, "", (double)c->found, 0, 12);
    strbuf_addf(out, "  %s%s%s\n", color ? (good ? "\033[32m" : "\033[1;31m") : "", good ? "ok" : "BROKEN",
                color ? "\033[0m" : "");
    for (size_t i = 0; i < c->example_count && !good; i++)
        strbuf_addf(out, "      %s\n", c->examples[i]);
}

/* Breaks the sentence where a terminal ends. */
static void table_sentence(const char *text, struct strbuf *out)
{
    size_t column = 0;

    while (*text) {
        size_t word = strcspn(text, " ");

        if (column > 0 && column + 1 + word > SENTENCE_COLUMNS) {
            strbuf_add_char(out, '\n');
            column = 0;
        }
        strbuf_addf(out, "%s%.*s", column > 0 ? " " : "", (int)word, text);
        column += word + (column > 0);
        text += word + strspn(text + word, " ");
    }
    strbuf_add_char(out, '\n');
}

static void table_checks(const struct report *r, bool color, struct strbuf *out)
{
    int checked = 0, good = 0;
    char sum[40];
    bool headed = false;

    for (int i = 0; i < REPORT_CHECKS; i++) {
        checked += r->checks[i].state == REPORT_GOOD || r->checks[i].state == REPORT_BROKEN;
        good += r->checks[i].state == REPORT_GOOD;
        if (r->checks[i].state == REPORT_UNCHECKED || (r->brief && r->checks[i].state != REPORT_BROKEN))
            continue;
        if (!headed)
            strbuf_addf(out, "\n  %-13s %-47s%14s%12s  %s\n", "check", "what is compared", "expected", "found",
                        "verdict");
        headed = true;
        table_check(r, i, color, out);
    }
    if (r->brief && checked > 0) {
        snprintf(sum, sizeof sum, "%d of %d hold", good, checked);
        strbuf_addf(out, "  %-44s%14s\n", "checks", sum);
    }
}

void report_table(const struct report *r, bool color, struct strbuf *out)
{
    strbuf_addf(out, "\n%s of activity %" PRId64 "\n", r->command, r->activity);
    table_facts(r, out);
    table_checks(r, color, out);
    if (r->sentence[0]) {
        strbuf_add_char(out, '\n');
        table_sentence(r->sentence, out);
    }
}

/* ---- JSON ---- */

static void json_text(struct strbuf *out, const char *text)
{
    strbuf_add_json(out, slice_of(text));
}

static void json_facts(const struct report *r, struct strbuf *out)
{
    strbuf_add_str(out, ",\"facts\":{");
    for (size_t i = 0; i < r->fact_count; i++) {
        if (i)
            strbuf_add_char(out, ',');
        json_text(out, r->facts[i].key);
        strbuf_addf(out, ":%.*f", r->facts[i].decimals, r->facts[i].value);
    }
    strbuf_add_char(out, '}');
}

static void json_examples(const struct report_check *c, struct strbuf *out)
{
    strbuf_add_str(out, ",\"examples\":[");
    for (size_t i = 0; i < c->example_count; i++) {
        if (i)
            strbuf_add_char(out, ',');
        json_text(out, c->examples[i]);
    }
    strbuf_add_char(out, ']');
}

static void json_check(const struct report *r, int kind, struct strbuf *out)
{
    static const char *const relations[] = {[REPORT_EQUAL] = "=", [REPORT_AT_MOST] = "<=", [REPORT_AT_LEAST] = ">="};
    static const char *const states[] = {
        [REPORT_GOOD] = "ok", [REPORT_BROKEN] = "broken", [REPORT_SKIPPED] = "skipped"};
    const struct report_check *c = &r->checks[kind];

    json_text(out, checks[kind].name);
    strbuf_addf(out, ":{\"verdict\":\"%s\",\"what\":", states[c->state]);
    json_text(out, checks[kind].what);
    if (c->state == REPORT_SKIPPED) {
        strbuf_add_str(out, ",\"why\":");
        json_text(out, c->why_skipped);
    } else {
        strbuf_addf(out, ",\"relation\":\"%s\",\"expected\":%" PRId64 ",\"found\":%" PRId64, relations[c->relation],
                    c->expected, c->found);
        json_examples(c, out);
    }
    strbuf_add_char(out, '}');
}

void report_json(const struct report *r, struct strbuf *out)
{
    bool any = false;

    strbuf_add_str(out, "{\"command\":");
    json_text(out, r->command);
    strbuf_addf(out, ",\"activity\":%" PRId64 ",\"good\":%s,\"verdict\":", r->activity,
                report_good(r) ? "true" : "false");
    json_text(out, r->sentence);
    json_facts(r, out);
    strbuf_add_str(out, ",\"checks\":{");
    for (int i = 0; i < REPORT_CHECKS; i++) {
        if (r->checks[i].state == REPORT_UNCHECKED)
            continue;
        if (any)
            strbuf_add_char(out, ',');
        any = true;
        json_check(r, i, out);
    }
    strbuf_add_str(out, "}}\n");
}
