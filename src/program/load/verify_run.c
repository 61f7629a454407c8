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

static void verdict(struct run *run)
{
    struct report *r = &run->report;
    struct strbuf broken = STRBUF_INIT, n = STRBUF_INIT;

    report_number(&n, (double)expected(run), 0);
    report_broken_sentences(r, &broken);
    if (broken.len > 0)
        snprintf(r->sentence, sizeof r->sentence, "BROKEN: %s.", broken.data);
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

static bool verify_payments(struct run *run, struct error *err)
{
    struct bills bills;
    bool ok = true;

    bills_init(&bills, run->activity.id);
    for (size_t i = 0; i < run->o.payments.count && ok; i++)
        ok = bills_read(&bills, run->o.payments.names[i], err);
    ok = ok && pay_verify(run, &bills, NULL, err);
    if (ok)
        pay_report(run, &bills, -1);
    bills_release(&bills);
    return ok;
}

enum exitcode verify_run(struct run *run, struct error *err)
{
    if (!run_read_activity(run, err) || !run_open_ids(run, false, err))
        return EXIT_CONFIG;
    if (run->o.wait_ms > 0)
        wait_for_rows(run);
    report_fact(&run->report, "accepted", "accepted orders in these files",
                (int64_t)(run->book.accepted[BOOK_SILENT] + run->book.accepted[BOOK_RESERVED] +
                          run->book.accepted[BOOK_FILLED]));
    if (!verify(run->conf, &run->book, &run->report, &run->o, err))
        return EXIT_UNAVAILABLE;
    if (run->o.payments.count > 0 && !verify_payments(run, err))
        return EXIT_UNAVAILABLE;
    verdict(run);
    return report_good(&run->report) ? EXIT_OK : EXIT_FAILED;
}
