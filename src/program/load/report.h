/* What a run has to say: facts (numbers with a name), then checks with a verdict, then one sentence. Printed as a table
 * or as one JSON object. One owner. */
#ifndef ORDERD_LOAD_REPORT_H
#define ORDERD_LOAD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/error.h"
#include "orderd/strbuf.h"

#define REPORT_FACTS_MAX    96
#define REPORT_EXAMPLES_MAX 5

struct report_fact {
    const char *key;   /* in JSON; kept by pointer, as label and unit are */
    const char *label; /* in the table */
    const char *unit;  /* "": a count */
    double value;
    int decimals;
};

enum report_check_kind {
#define X(check, name, what, broken) REPORT_##check,
#include "orderd/tbl/load_check.h"
#undef X
    REPORT_CHECKS
};

/* How found must stand to expected. */
enum report_relation { REPORT_EQUAL, REPORT_AT_MOST, REPORT_AT_LEAST };

struct report_check {
    enum { REPORT_UNCHECKED, REPORT_GOOD, REPORT_BROKEN, REPORT_SKIPPED } state;
    enum report_relation relation;
    int64_t expected, found;
    char examples[REPORT_EXAMPLES_MAX][160];
    size_t example_count;
    const char *why_skipped;
};

struct report {
    const char *command;
    int64_t activity;
    bool brief; /* the table: counts, broken checks, verdict */
    struct report_fact facts[REPORT_FACTS_MAX];
    size_t fact_count;
    struct report_check checks[REPORT_CHECKS];
    char sentence[ERROR_TEXT_MAX]; /* the verdict; set by the command */
};

void report_fact(struct report *report, const char *key, const char *label, int64_t value);
void report_measure(struct report *report, const char *key, const char *label, double value, int decimals,
                    const char *unit);

/* Sets a check's outcome. */
void report_check(struct report *report, enum report_check_kind kind, enum report_relation relation, int64_t expected,
                  int64_t found);
void report_skip(struct report *report, enum report_check_kind kind, const char *why);

/* Notes an example of what is wrong, up to REPORT_EXAMPLES_MAX of each check; may come before report_check. */
void report_example(struct report *report, enum report_check_kind kind, const char *fmt, ...) ORDERD_PRINTF(3, 4);

/* No check is broken. */
bool report_good(const struct report *report);

/* What the broken checks mean, in a row; empty where none is. */
void report_broken_sentences(const struct report *report, struct strbuf *out);

void report_table(const struct report *report, bool color, struct strbuf *out);
void report_json(const struct report *report, struct strbuf *out);

/* A number with separators between thousands. */
void report_number(struct strbuf *out, double value, int decimals);

#endif
