/* orderctl order cancel: what a message of order.cancel does, by hand. */
#include <stdio.h>

#include "order.h"
#include "orderd/order_change.h"
#include "orderd/order_record.h"
#include "print.h"
#include "record.h"

bool order_operand(struct ctl *ctl, const char **order_no, struct error *err)
{
    *order_no = ctl->operands[0];
    return order_no_valid(slice_of(*order_no)) ||
           ctl_misuse(ctl, err, "\"%.60s\" is no order number (1 to 28 of [0-9A-Za-z_], with an optional -r<n>)",
                      *order_no);
}

/* What a cancellation would say of it now. */
static bool look(struct db *db, const char *order_no, enum reason *verdict, struct error *err)
{
    struct order_record record;
    bool found;

    if (!order_record_read(db, order_no, &record, &found, err))
        return false;
    *verdict =
        order_transition(ORDER_CONDITION_CANCEL, found ? (enum order_standing)record.status : ORDER_STANDS_UNKNOWN)
            .verdict;
    return true;
}

/* Nobody here sends what it leaves in the local message table: the next relay to look for due rows does. */
static bool cancel(struct ctl *ctl, struct db *db, const char *order_no, enum reason *verdict, struct error *err)
{
    struct order_change change = {.wish = ORDER_WISH_CANCEL};
    struct order_change_options options = {.owner = "", .events = ctl->conf->events_enabled};
    struct local_messages committed;
    bool ok;

    snprintf(change.order_no, sizeof change.order_no, "%s", order_no);
    local_messages_init(&committed);
    ok = order_change_run(db, &change, 1, &options, &committed, err);
    local_messages_free(&committed);
    *verdict = change.verdict;
    if (!ok && error_class_of(err) == ERROR_CLASS_OUTAGE)
        ctl_advise(ctl, "run the same command again: it tells whether the order was cancelled");
    return ok;
}

static void print_result(const struct ctl *ctl, const char *order_no, enum reason verdict, bool dry_run)
{
    bool would = dry_run && verdict == REASON_CANCELLED;
    struct strbuf line = STRBUF_INIT;

    if (!ctl->json) {
        print_word(ctl, order_no, 0, TINT_NONE);
        fputs("  ", stdout);
        print_word(ctl, would ? "would be cancelled" : reason_name(verdict), 0,
                   verdict == REASON_CANCELLED ? TINT_CHANGED : TINT_DIM);
        putchar('\n');
        return;
    }
    record_open(&line, NULL, '{');
    record_text(&line, "order_no", order_no);
    record_text(&line, "result", would ? "would_be_cancelled" : reason_name(verdict));
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

static bool judge(struct ctl *ctl, const char *order_no, enum reason verdict, bool dry_run, struct error *err)
{
    switch (verdict) {
    case REASON_CANCELLED:
    case REASON_CLOSED_BEFORE:
        print_result(ctl, order_no, verdict, dry_run);
        if (verdict == REASON_CLOSED_BEFORE)
            print_note(ctl, "the order was closed before; nothing was changed");
        else if (dry_run)
            print_note(ctl, "the order could be cancelled; nothing was changed");
        else
            print_note(ctl, "the order is closed; its units are back on sale as soon as a relay has sent them");
        return true;
    case REASON_ORDER_UNKNOWN:
        ctl_advise(ctl, "an order that was taken a moment ago may still be on its way; try again later");
        return error_set(err, ERROR_REFUSED, "there is no order %s", order_no);
    default:
        ctl_advise(ctl, "see `orderctl order show %s`", order_no);
        return error_set(err, ERROR_REFUSED, "order %s: %s", order_no, reason_sentence(verdict));
    }
}

bool ctl_order_cancel(struct ctl *ctl, struct error *err)
{
    bool dry_run = ctl->values[CTL_OPTION_order_cancel_dry_run].set;
    enum reason verdict = REASON_NONE;
    const char *order_no;
    struct db *db;
    bool ok;

    if (!order_operand(ctl, &order_no, err) || !(db = ctl_open_schema(ctl, err)))
        return false;
    ok = dry_run ? look(db, order_no, &verdict, err) : cancel(ctl, db, order_no, &verdict, err);
    db_close(&db);
    return ok && judge(ctl, order_no, verdict, dry_run, err);
}
