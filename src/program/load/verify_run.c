/* `orderload verify`. */
#include "run.h"

#include <inttypes.h>
#include <string.h>

#include "pay.h"
#include "verify.h"
#include "watch.h"

/* Those that must be rows. */
static int64_t expected(const struct run *run)
{
    const size_t *accepted = run->book.accepted;

    return (int64_t)(accepted[BOOK_RESERVED] + accepted[BOOK_FILLED] + (run->o.recovered ? accepted[BOOK_SILENT] : 0));
}

/* Nothing was accepted, as a head alone says; and nothing became of it either. */
static bool none_accepted(const struct run *run)
{
    const size_t *accepted = run->book.accepted;

    return accepted[BOOK_RESERVED] + accepted[BOOK_SILENT] + accepted[BOOK_FILLED] == 0;
}

static void verdict(struct run *run)
{
    struct report *r = &run->report;
    struct strbuf broken = STRBUF_INIT, n = STRBUF_INIT;

    report_number(&n, (double)expected(run), 0);
    report_broken_sentences(r, &broken);
    if (broken.len > 0)
        snprintf(r->sentence, sizeof r->sentence, "BROKEN: %s.", broken.data);
    else if (none_accepted(run))
        snprintf(r->sentence, sizeof r->sentence,
                 "Good: no order was accepted, by these files, and none is in the database; no unit was sold.");
    else
        snprintf(
            r->sentence, sizeof r->sentence,
            "Good: all %s orders of these files are in the database exactly once, as they were accepted; no unit was "
            "sold twice, and none is lost%s.",
            n.data,
            run->o.payments.count > 0 ? "; each payment has paid its order once or is to be refunded once" : "");
    strbuf_release(&broken);
    strbuf_release(&n);
}

/* Rows that are still to come, where there is time; with --wait 0 it looks at once. */
static void wait_for_rows(struct run *run)
{
    int64_t more_ms = run_walk_ms(run);
    struct watch_goal goal = {
        .rows = expected(run), .wait_ms = run->o.wait_ms + more_ms, .settle_ms = run->o.settle_ms + more_ms};
    struct watch_state last;
    struct watch watch;

    watch_open(&watch, run->conf, run->activity.id);
    progress_begin(&run->progress, "waiting");
    (void)watch_until(&watch, &goal, &run->progress, &last);
    progress_end(&run->progress);
    watch_close(&watch);
}

/* Files that name nothing of this activity prove nothing: refused, before anything is looked at. */
static bool read_payments(struct run *run, struct bills *bills, struct error *err)
{
    const struct load_files *files = &run->o.payments;

    for (size_t i = 0; i < files->count; i++) {
        if (!bills_read(bills, files->names[i], err))
            return false;
    }
    return files->count == 0 || bills->ids.count > 0 ||
           lines_explain_none(&bills->passed, files, run->activity.id, "payment", err);
}

static bool read_orders(struct run *run, struct error *err)
{
    return run_open_ids(run, false, err) &&
           (!none_accepted(run) || lines_explain_none(&run->book.passed, &run->o.ids, run->activity.id, "order", err));
}

static bool verify_all(struct run *run, struct bills *bills, struct error *err)
{
    if (run->o.wait_ms > 0)
        wait_for_rows(run);
    report_fact(&run->report, "accepted", "accepted orders in these files",
                (int64_t)(run->book.accepted[BOOK_SILENT] + run->book.accepted[BOOK_RESERVED] +
                          run->book.accepted[BOOK_FILLED]));
    if (!verify(run->conf, &run->book, &run->report, &run->o, err))
        return false;
    if (run->o.payments.count > 0) {
        if (!pay_verify(run, bills, NULL, err))
            return false;
        pay_report(run, bills, -1);
    }
    verdict(run);
    return true;
}

enum exitcode verify_run(struct run *run, struct error *err)
{
    struct bills bills;
    bool ok;

    if (!run_read_activity(run, err))
        return EXIT_CONFIG;
    bills_init(&bills, run->activity.id);
    ok = read_orders(run, err) && read_payments(run, &bills, err) && verify_all(run, &bills, err);
    bills_release(&bills);
    return ok && report_good(&run->report) ? EXIT_OK : EXIT_FAILED;
}
