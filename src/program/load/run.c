#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "garbage.h"
#include "orderd/broker.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/load.h"
#include "orderd/log.h"
#include "orderd/output.h"
#include "orderd/process.h"
#include "orderd/schema.h"
#include "orderd/thread.h"

/* How often the guard looks for broker calls that take too long. */
#define GUARD_MS 250

/* ---- the activity ---- */

struct found {
    struct activity activity;
    bool any;
};

static void take_activity(void *arg, const struct activity *activity)
{
    struct found *found = arg;

    found->activity = *activity;
    found->any = true;
}

/* Where no table is there, or an older one, what is wrong is the schema: that is what there is something to do about.
 */
static void explain_schema(struct db *db, struct error *err)
{
    struct error schema = {0};

    if (err->code == ERROR_DB_SETUP && !schema_check(db, &schema) && schema.code == ERROR_REFUSED)
        error_set(err, ERROR_DB_SETUP, "%s", schema.text);
}

bool run_read_activity(struct run *run, struct error *err)
{
    struct db *db = db_open(run->conf, err);
    struct found found = {.any = false};
    int64_t id = run->o.activity;
    bool ok = db && activity_read(db, &id, 1, take_activity, &found, err);

    if (db && !ok)
        explain_schema(db, err);
    db_close(&db);
    if (!ok)
        return error_prefix(err, "reading activity %" PRId64, id);
    if (!found.any)
        return error_set(err, ERROR_REFUSED, "there is no activity %" PRId64, id);
    run->activity = found.activity;
    book_init(&run->book, id, found.activity.sku_id);
    return true;
}

/* ---- accepted orders ---- */

bool run_open_ids(struct run *run, bool append, struct error *err)
{
    for (size_t i = 0; i < run->o.ids.count; i++) {
        const char *name = run->o.ids.names[i];

        if (append && i == 0 && access(name, F_OK) != 0)
            continue;
        if (!book_read(&run->book, name, err))
            return false;
    }
    if (append && run->o.ids.count > 0)
        run->ids = book_open(run->o.ids.names[0], err);
    return !append || run->o.ids.count == 0 || run->ids;
}

uint32_t run_accept(struct run *run, const struct order *order, enum book_how how)
{
    uint32_t index = book_accept(&run->book, order, how);

    CHECK(index != IDSET_NONE);
    if (run->ids)
        book_write(run->ids, &run->book, index);
    return index;
}

bool run_flush_ids(struct run *run, struct error *err)
{
    if (!run->ids || (fflush(run->ids) == 0 && !ferror(run->ids)))
        return true;
    return error_set(err, ERROR_IO, "cannot write %s: %s", run->o.ids.names[0], strerror(errno));
}

/* ---- messages ---- */

/* splitmix64: one number becomes another that looks like chance. */
static uint64_t scatter(uint64_t n)
{
    n += UINT64_C(0x9e3779b97f4a7c15);
    n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
    return n ^ n >> 31;
}

void run_trace(const struct run *run, uint64_t item, struct publish_message *out)
{
    uint64_t a = scatter((uint64_t)run->salt << 32 | item), b = scatter(a), span = scatter(b);

    snprintf(out->traceparent, sizeof out->traceparent, "00-%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "-01", a | 1, b,
             span | 1);
}

/* What garbage is made of: an order that nobody made, whose number says which run and message it was. */
static void garbage_order(const struct run *run, const struct publish_item *item, struct order *o)
{
    *o = (struct order){
        .activity_id = item->kind == PUBLISH_FOREIGN ? INT64_MAX : run->activity.id,
        .user_id = INT64_MAX - item->number,
        .sku_id = run->activity.sku_id,
        .quantity = 1,
        .amount = run->activity.unit_price,
        .epoch = run->activity.epoch > 0 ? run->activity.epoch : 1,
        .reserved_at = clock_wall_ms(),
    };
    snprintf(o->order_no, sizeof o->order_no, "%.9s_%08x_%u", publish_kind_name((enum publish_kind)item->kind),
             run->salt, item->number);
}

void run_build_message(void *arg, const struct publish_item *item, struct publish_message *out)
{
    const struct run *run = arg;
    struct order order;
    bool ours = item->kind == PUBLISH_ORDER || item->kind == PUBLISH_DUPLICATE;

    if (ours)
        book_order(&run->book, item->number, &order);
    else
        garbage_order(run, item, &order);
    if (item->kind == PUBLISH_MALFORMED)
        garbage_malformed(item->number, &order, &out->body);
    else if (item->kind == PUBLISH_OVERSIZED)
        garbage_oversized(item->number, &order, &out->body);
    else
        order_encode(&order, &out->body);
    create_queue_of(run->conf, order.activity_id, out->queue);
    out->routing_key = out->queue;
    snprintf(out->message_id, sizeof out->message_id, "%s", order.order_no);
    run_trace(run, (ours ? 0u : (uint64_t)item->kind << 28) + item->number, out);
}

void run_report_publisher(struct run *run, const struct publisher *publisher, int64_t elapsed_ms)
{
    const struct publish_totals *t = publisher_totals(publisher);
    struct report *r = &run->report;
    uint64_t all = 0;

    for (int kind = 0; kind < PUBLISH_KINDS; kind++) {
        all += t->confirmed[kind];
        if (t->confirmed[kind] > 0 || (kind == PUBLISH_ORDER && run->o.command != LOAD_PAY))
            report_fact(r, publish_kind_name((enum publish_kind)kind), publish_kind_label((enum publish_kind)kind),
                        (int64_t)t->confirmed[kind]);
    }
    if (elapsed_ms > 0)
        report_measure(r, "published_per_second", "messages confirmed a second",
                       (double)all * 1000 / (double)elapsed_ms, 0, "/s");
    report_measure(r, "confirm_p50_ms", "publish to confirm, half within",
                   (double)spread_quantile(&t->latency, 0.5) / 1000, 2, "ms");
    report_measure(r, "confirm_p99_ms", "publish to confirm, 99 % within",
                   (double)spread_quantile(&t->latency, 0.99) / 1000, 2, "ms");
    if (t->outages > 0 || t->again > 0) {
        report_fact(r, "broker_outages", "times the broker was away", (int64_t)t->outages);
        report_fact(r, "published_again", "messages published again after that", (int64_t)t->again);
    }
    if (t->too_large > 0)
        report_fact(r, "too_large", "bodies that the broker itself refused", (int64_t)t->too_large);
}

/* ---- signals ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int signal_)
{
    (void)signal_;
    interrupted = 1;
}

int64_t run_walk_ms(const struct run *run)
{
    const struct conf *conf = run->conf;
    int64_t ms = conf->walk_in_flight + 2 * conf->walk_interval + conf->relay_poll_interval;

    for (size_t i = 0; i < conf->retry_delays.count; i++)
        ms += conf->retry_delays.ms[i];
    return run->o.recovered ? ms : 0;
}

bool run_interrupted(void)
{
    return interrupted != 0;
}

/* A second one meets the default action. */
static void take_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    CHECK_ZERO(sigaction(SIGINT, &action, NULL));
    CHECK_ZERO(sigaction(SIGTERM, &action, NULL));
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
}

/* ---- the program ---- */

static void guard_run(void *data)
{
    atomic_bool *stop = data;

    while (!atomic_load_explicit(stop, memory_order_acquire)) {
        (void)broker_guard_check();
        clock_sleep_ms(GUARD_MS);
    }
}

static void print_report(const struct run *run)
{
    const char *no_color = getenv("NO_COLOR");
    bool color = isatty(STDOUT_FILENO) && !(no_color && no_color[0]);
    struct strbuf out = STRBUF_INIT;

    if (run->o.json)
        report_json(&run->report, &out);
    else
        report_table(&run->report, color, &out);
    fwrite(out.data, 1, out.len, stdout);
    strbuf_release(&out);
}

/* An account that may not do something: MySQL's 1142, 1143 and 1044, and Redis'. (RabbitMQ's is explained where it is
 * met.) */
static void explain_rights(struct error *err)
{
    struct error plain = *err;
    bool denied = (err->code == ERROR_DB_SETUP &&
                   (strstr(err->text, " command denied") || strstr(err->text, "' to database "))) ||
                  (err->code == ERROR_KV_SETUP && strstr(err->text, "NOPERM"));

    if (denied)
        error_set(err, plain.code,
                  "%.250s; run it with the daemon's configuration (-c), whose account has the rights (docs/servers.md)",
                  plain.text);
}

static enum exitcode command(struct run *run, struct error *err)
{
    static enum exitcode (*const commands[])(struct run *, struct error *) = {[LOAD_SALE] = sale_run,
                                                                              [LOAD_FILL] = fill_run,
                                                                              [LOAD_RATE] = rate_run,
                                                                              [LOAD_PAY] = pay_run,
                                                                              [LOAD_VERIFY] = verify_run};
    enum exitcode code;

    run->salt = (uint32_t)scatter((uint64_t)clock_wall_us() ^ (uint64_t)getpid() << 48);
    run->maker.node = run->o.node >= 0 ? run->o.node : getpid() % (ORDER_NO_NODE_MAX + 1);
    run->report.command = load_command_name(run->o.command);
    run->report.activity = run->o.activity;
    run->report.brief = run->o.brief;
    code = commands[run->o.command](run, err);
    progress_end(&run->progress);
    if (err->code != ERROR_NONE) {
        explain_rights(err);
        fprintf(stderr, "orderload: %s\n", err->text);
        code = exitcode_of(err);
    }
    if (run->report.fact_count > 0)
        print_report(run);
    return code;
}

static enum exitcode run_command(struct run *run, struct error *err)
{
    atomic_bool stop = false;
    struct thread guard = {.name = "guard", .run = guard_run, .data = &stop};
    enum exitcode code;

    take_signals();
    db_library_init();
    thread_start(&guard);
    code = command(run, err);
    atomic_store_explicit(&stop, true, memory_order_release);
    thread_join(&guard);
    db_library_end();
    return code;
}

enum exitcode load_main(int argc, char **argv)
{
    struct run run = {0};
    struct error err = {0};
    enum exitcode code = EXIT_OK;

    output_prepare();
    process_no_core();
    if (!load_options_parse(argc, argv, &run.o, &code))
        return code;
    run.conf = conf_load(run.o.conf, &err);
    if (!run.conf) {
        fprintf(stderr, "orderload: %s\n", err.text);
        return exitcode_of(&err);
    }
    log_set_identity("orderload", "");
    log_configure(run.conf);
    code = run_command(&run, &err);
    if (run.ids && fclose(run.ids) != 0) {
        fprintf(stderr, "orderload: cannot write %s: %s\n", run.o.ids.names[0], strerror(errno));
        code = code == EXIT_OK ? EXIT_IO : code;
    }
    book_release(&run.book);
    conf_destroy(&run.conf);
    return output_end("orderload", code, err.code != ERROR_NONE);
}
