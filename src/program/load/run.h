/* What the commands share: options, configuration, the activity, the book, and the sentences about what was done. */
#ifndef ORDERD_LOAD_RUN_H
#define ORDERD_LOAD_RUN_H

#include <stdbool.h>
#include <stdio.h>
#include "book.h"
#include "options.h"
#include "orderd/activity.h"
#include "orderd/conf.h"
#include "orderd/db.h"
#include "order_no.h"
#include "progress.h"
#include "publish.h"
#include "report.h"

struct run {
    struct load_options o;
    struct conf *conf;
    struct activity activity;
    struct book book;
    FILE *ids; /* accepted orders go here too; or NULL */
    struct order_no_maker maker;
    uint32_t salt; /* differs from run to run: in the numbers of garbage and in trace ids */
    struct progress progress;
    struct report report;
};

/* Reads the activity; ACTIVITY missing or in review: REFUSED. */
ORDERD_MUST_CHECK bool run_read_activity(struct run *run, struct error *err);

/* Reads all ids files; the first may be missing where the command will write it. append: opens that. */
ORDERD_MUST_CHECK bool run_open_ids(struct run *run, bool append, struct error *err);

/* Accepts an order: into the book and the ids file. A number that was given out before is a bug (check). */
uint32_t run_accept(struct run *run, const struct order *order, enum book_how how);

/* The ids file is written out; before the first publish of what it names. */
ORDERD_MUST_CHECK bool run_flush_ids(struct run *run, struct error *err);

/* For publish_calls.build; arg is the struct run. */
void run_build_message(void *arg, const struct publish_item *item, struct publish_message *out);

/* Its W3C trace context, the same for every copy of one item. */
void run_trace(const struct run *run, uint64_t item, struct publish_message *out);

/* What was published, as facts of the report; elapsed_ms > 0: and how many a second. */
void run_report_publisher(struct run *run, const struct publisher *publisher, int64_t elapsed_ms);

/* How much longer it takes until silent orders are rows, where they must be (--recovered): they must be old enough, and
 * a walk must come. Else 0. */
int64_t run_walk_ms(const struct run *run);

/* Whether SIGINT or SIGTERM came. */
bool run_interrupted(void);

/* ---- the commands ---- */
enum exitcode sale_run(struct run *run, struct error *err);
enum exitcode fill_run(struct run *run, struct error *err);
enum exitcode rate_run(struct run *run, struct error *err);
enum exitcode pay_run(struct run *run, struct error *err);
enum exitcode verify_run(struct run *run, struct error *err);

#endif
