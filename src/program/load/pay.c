/* A payment service and its buyers: who pays in time, twice, late, a wrong amount, cancels, or does nothing. */
#include "pay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "orderd/topology.h"
#include "share.h"
#include "watch.h"

#define TURN_MS  50
#define LOOK_MS  100
#define AGAIN_MS 500

enum { SHARE_PAY, SHARE_LATE, SHARE_WRONG, SHARE_CANCEL, SHARE_REST, SHARES };

struct pay {
    struct run *run;
    struct bills bills;
    FILE *file; /* or NULL */
    struct publisher *publisher;
    struct pay_ear ear;
    struct pay_look look;
    struct db *db;
    double owed[SHARES], twice_owed;
    unsigned twice, cancels; /* so many were chosen; they take turns */
    int64_t found, after;    /* orders found; orders for which something is still to be sent afterwards */
    int64_t begun_ms, look_at_ms, changed_ms, db_down_ms;
    int64_t last_pending;
    struct error why; /* of db_down_ms */
};

/* ---- plans ---- */

static enum bill_plan choose(struct pay *p)
{
    static const enum bill_plan cancels[] = {BILL_CANCEL, BILL_RACE, BILL_PAY_CANCEL};
    const struct load_options *o = &p->run->o;
    const double shares[SHARES] = {o->share, o->late, o->wrong, o->cancel,
                                   100 - o->share - o->late - o->wrong - o->cancel};

    switch (share_choose(p->owed, shares, SHARES)) {
    case SHARE_LATE:
        return BILL_LATE;
    case SHARE_WRONG:
        return BILL_WRONG;
    case SHARE_CANCEL:
        return cancels[p->cancels++ % (sizeof cancels / sizeof *cancels)];
    case SHARE_PAY:
        if (!share_falls(&p->twice_owed, o->twice))
            return BILL_PAY;
        return p->twice++ % 2 ? BILL_SECOND : BILL_AGAIN;
    default:
        return BILL_UNPAID;
    }
}

static void write_down(struct pay *p, uint32_t index)
{
    if (p->file)
        bills_write(p->file, &p->bills, index);
}

static void send(struct pay *p, uint32_t index, enum publish_kind kind)
{
    if (kind == PUBLISH_ORDER)
        return;
    p->bills.list[index].open++;
    publisher_add(p->publisher, (struct publish_item){index, (uint8_t)kind});
}

static void on_found(void *arg, uint32_t index)
{
    struct pay *p = arg;
    struct bill *b = &p->bills.list[index];
    const struct bill_plan_row *plan;

    b->plan = (uint8_t)choose(p);
    plan = bill_plan_row((enum bill_plan)b->plan);
    b->state = plan->first == PUBLISH_ORDER && plan->after == PUBLISH_ORDER ? BILL_SENT : BILL_PLANNED;
    write_down(p, index);
    send(p, index, plan->first);
    send(p, index, plan->with);
    p->found++;
    p->changed_ms = clock_mono_ms();
}

/* The last of what it had out: in time, or not. What is sent afterwards is meant to be late. */
static void on_confirmed(void *arg, const struct publish_item *item)
{
    struct pay *p = arg;
    struct bill *b = &p->bills.list[item->number];

    if (--b->open > 0 || b->state != BILL_PLANNED)
        return;
    b->state = BILL_SENT;
    if (!b->after_sent && clock_mono_ms() > b->until_ms - p->run->o.margin_ms)
        b->state = BILL_CLOSE;
    write_down(p, item->number);
}

/* After a whole look: those that are pending no more, and have something to come. */
static void send_after(struct pay *p)
{
    p->after = 0;
    for (uint32_t i = 0; i < p->bills.ids.count; i++) {
        struct bill *b = &p->bills.list[i];
        enum publish_kind kind = bill_plan_row((enum bill_plan)b->plan)->after;

        if (kind == PUBLISH_ORDER || b->after_sent)
            continue;
        p->after++;
        if (b->pass == p->look.pass || b->open > 0)
            continue;
        b->after_sent = true;
        send(p, i, kind);
        p->after--;
    }
}

/* ---- messages ---- */

static void build(void *arg, const struct publish_item *item, struct publish_message *out)
{
    const struct pay *p = arg;
    const char *order_no = idset_text(&p->bills.ids, item->number);
    char ref[64];

    bill_payment_ref(ref, sizeof ref, order_no, item->kind == PUBLISH_PAYMENT_SECOND);
    if (item->kind == PUBLISH_CANCEL) {
        out->routing_key = topology_name(TOPOLOGY_QUEUE_CANCEL);
        strbuf_addf(&out->body, "{\"v\":1,\"order_no\":\"%s\",\"reason\":\"the buyer changed her mind\"}", order_no);
    } else {
        out->routing_key = topology_name(TOPOLOGY_QUEUE_PAID);
        strbuf_addf(&out->body,
                    "{\"v\":1,\"order_no\":\"%s\",\"payment_ref\":\"%s\",\"amount\":%" PRId64 ",\"paid_at\":%" PRId64
                    "}",
                    order_no, ref, bill_payment_amount(&p->bills.list[item->number]), clock_wall_ms());
    }
    snprintf(out->message_id, sizeof out->message_id, "%s", item->kind == PUBLISH_CANCEL ? order_no : ref);
    run_trace(p->run, (uint64_t)item->kind << 28 | item->number, out);
}

/* ---- looking ---- */

static void look_failed(struct pay *p, const struct error *err)
{
    int64_t now = clock_mono_ms();

    db_close(&p->db);
    p->why = *err;
    p->db_down_ms = p->db_down_ms ? p->db_down_ms : now;
    p->look_at_ms = now + AGAIN_MS;
}

/* Answers false where no later look can help. */
static bool look(struct pay *p, struct error *err)
{
    struct error why = {0};
    int64_t begun = clock_mono_ms();

    if (!p->db)
        p->db = db_open(p->run->conf, &why);
    if (!p->db || !pay_look(&p->look, p->db, &why)) {
        look_failed(p, &why);
        *err = why;
        return error_class_of(&why) == ERROR_CLASS_OUTAGE || error_class_of(&why) == ERROR_CLASS_TRANSIENT;
    }
    p->db_down_ms = 0;
    if (p->look.pending != p->last_pending)
        p->changed_ms = clock_mono_ms();
    p->last_pending = p->look.pending;
    send_after(p);
    p->look_at_ms = clock_mono_ms() + (clock_mono_ms() - begun) * 4 + LOOK_MS;
    return true;
}

/* ---- the run ---- */

static bool is_over(const struct pay *p)
{
    int64_t now = clock_mono_ms();
    bool nothing_comes = p->last_pending == 0 && p->after == 0 && now - p->changed_ms >= p->run->o.settle_ms;

    if (publisher_open(p->publisher) > 0)
        return false;
    return run_interrupted() || now - p->begun_ms >= p->run->o.wait_ms || (p->found > 0 && nothing_comes);
}

static bool patient(const struct pay *p, struct error *err)
{
    const struct error *why = NULL;
    int64_t wait_ms = p->run->o.wait_ms;

    if (publisher_down_ms(p->publisher, &why) <= wait_ms) {
        if (!p->db_down_ms || clock_mono_ms() - p->db_down_ms <= wait_ms)
            return true;
        why = &p->why;
    }
    *err = *why;
    return error_prefix(err, "gave up after %" PRId64 " s", wait_ms / 1000);
}

static bool flush(const struct pay *p, struct error *err)
{
    if (!p->file || (fflush(p->file) == 0 && !ferror(p->file)))
        return true;
    return error_set(err, ERROR_IO, "cannot write %s: %s", p->run->o.payments.names[0], strerror(errno));
}

static bool work(struct pay *p, struct error *err)
{
    p->begun_ms = p->changed_ms = clock_mono_ms();
    progress_begin(&p->run->progress, "paying");
    while (!is_over(p)) {
        struct error why = {0};

        if (!run_interrupted() && clock_mono_ms() >= p->look_at_ms && !look(p, &why)) {
            *err = why;
            return false;
        }
        if (!flush(p, err))
            return false;
        publisher_turn(p->publisher, TURN_MS);
        if (p->run->o.events)
            pay_ear_listen(&p->ear);
        if (!patient(p, err))
            return false;
        progress_show(&p->run->progress, p->found - p->last_pending, p->found,
                      "%" PRId64 " orders found, %" PRId64 " pending", p->found, p->last_pending);
    }
    progress_end(&p->run->progress);
    return flush(p, err);
}

static bool open_file(struct pay *p, struct error *err)
{
    const struct load_files *files = &p->run->o.payments;

    for (size_t i = 0; i < files->count; i++) {
        if (i == 0 && access(files->names[i], F_OK) != 0)
            continue;
        if (!bills_read(&p->bills, files->names[i], err))
            return false;
    }
    if (files->count > 0)
        p->file = bills_open(files->names[0], err);
    return files->count == 0 || p->file;
}

static bool begin(struct pay *p, struct watch *watch, struct watch_state *before, struct error *err)
{
    const struct publish_calls calls = {.build = build, .confirmed = on_confirmed, .arg = p};

    bills_init(&p->bills, p->run->activity.id);
    p->look = (struct pay_look){.bills = &p->bills, .found = on_found, .arg = p};
    watch_open(watch, p->run->conf, p->run->activity.id);
    if (!watch_read(watch, before, err) || !open_file(p, err) ||
        (p->run->o.events && !pay_ear_open(&p->ear, p->run, err)))
        return false;
    p->publisher = publisher_create(p->run->conf, &calls);
    return true;
}

static void verdict(struct pay *p)
{
    struct report *r = &p->run->report;
    struct strbuf broken = STRBUF_INIT;

    report_broken_sentences(r, &broken);
    if (broken.len > 0)
        snprintf(r->sentence, sizeof r->sentence, "BROKEN: %s.", broken.data);
    else if (p->bills.ids.count == 0)
        snprintf(r->sentence, sizeof r->sentence, "Good, but no order was pending.");
    else
        snprintf(r->sentence, sizeof r->sentence,
                 "Good: what was paid in time is paid, once; all other money is to be refunded, once; what was not "
                 "paid is %s.",
                 p->last_pending > 0 ? "closed when it is due" : "closed");
    strbuf_release(&broken);
}

/* What the database must have as rows: a payment that is sent twice is one. */
static int64_t different_payments(const struct pay *p)
{
    static const enum publish_kind kinds[] = {PUBLISH_PAYMENT, PUBLISH_PAYMENT_SECOND, PUBLISH_PAYMENT_WRONG,
                                              PUBLISH_PAYMENT_LATE};
    int64_t sum = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        sum += (int64_t)publisher_totals(p->publisher)->confirmed[kinds[i]];
    return sum;
}

static void report_events(struct run *run, const struct pay_ear *ear)
{
    struct report *r = &run->report;

    report_fact(r, "events", "messages of the exchange order.event", ear->events);
    report_fact(r, "events_created", "  they told of orders created", ear->told[ORDER_EVENT_CREATED]);
    report_fact(r, "events_paid", "  they told of orders paid", ear->told[ORDER_EVENT_PAID]);
    report_fact(r, "events_closed", "  they told of orders closed", ear->told[ORDER_EVENT_CLOSED]);
    report_fact(r, "events_rejected", "  they told of orders rejected", ear->told[ORDER_EVENT_REJECTED]);
    report_fact(r, "events_refund_due", "  they told of payments to be refunded", ear->told[ORDER_EVENT_REFUND_DUE]);
    report_fact(r, "events_again", "messages that came again", ear->repeats);
}

static bool conclude(struct pay *p, struct watch *watch, const struct watch_state *before, struct error *err)
{
    struct run *run = p->run;
    int64_t wrong = (int64_t)publisher_totals(p->publisher)->confirmed[PUBLISH_PAYMENT_WRONG];
    struct watch_goal goal = {*before, 0, wrong, run->o.wait_ms, run->o.settle_ms};
    struct watch_state last;

    run_report_publisher(run, p->publisher, 0);
    if (!pay_verify(run, &p->bills, run->o.events ? &p->ear : NULL, err))
        return false;
    pay_report(run, &p->bills, different_payments(p));
    if (run->o.events)
        report_events(run, &p->ear);
    (void)watch_until(watch, &goal, &run->progress, &last);
    report_check(&run->report, REPORT_DEAD, REPORT_AT_LEAST, wrong, last.dead - before->dead);
    verdict(p);
    return true;
}

enum exitcode pay_run(struct run *run, struct error *err)
{
    struct pay p = {.run = run};
    struct watch watch = {0};
    struct watch_state before = {0};
    bool ok;

    if (!run_read_activity(run, err))
        return EXIT_CONFIG;
    ok = begin(&p, &watch, &before, err) && work(&p, err) && conclude(&p, &watch, &before, err);
    watch_close(&watch);
    pay_ear_close(&p.ear);
    if (p.publisher)
        publisher_destroy(&p.publisher);
    db_close(&p.db);
    if (p.file && fclose(p.file) != 0 && ok)
        ok = error_set(err, ERROR_IO, "cannot write %s: %s", run->o.payments.names[0], strerror(errno));
    bills_release(&p.bills);
    return ok && report_good(&run->report) ? EXIT_OK : EXIT_FAILED;
}
