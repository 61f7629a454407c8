/* Orders without Redis: a full queue for drain benchmarks, and latency at a paced rate. */
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/stock.h"
#include "pace.h"
#include "watch.h"

/* Orders made ahead of the broker. */
#define AHEAD   4096
#define TURN_MS 50

struct fill {
    struct run *run;
    struct publisher *publisher;
    struct pace pace;
    int64_t count, made;
    uint32_t first;        /* index of the first order of this run in the book */
    int64_t *published_us; /* wall time of each order's first publish, by index - first; NULL: not wanted */
    int64_t begun_ms, ended_ms;
};

static void make_order(struct fill *f)
{
    const struct activity *a = &f->run->activity;
    struct order o = {
        .activity_id = a->id,
        .user_id = f->run->o.users_from + f->made,
        .sku_id = a->sku_id,
        .quantity = (int32_t)f->run->o.quantity,
        .amount = a->unit_price * f->run->o.quantity,
        .epoch = a->epoch > 0 ? a->epoch : 1,
        .reserved_at = clock_wall_ms(),
    };
    uint32_t index;

    o.shard = stock_home_shard(o.user_id, a->shards);
    snprintf(o.order_no, sizeof o.order_no, "%" PRId64, order_no_next(&f->run->maker, o.reserved_at));
    index = run_accept(f->run, &o, BOOK_FILLED);
    if (f->made++ == 0)
        f->first = index;
    publisher_add(f->publisher, (struct publish_item){index, PUBLISH_ORDER});
}

static void on_sent(void *arg, const struct publish_item *item)
{
    struct fill *f = arg;

    if (f->published_us && f->published_us[item->number - f->first] == 0)
        f->published_us[item->number - f->first] = clock_wall_us();
}

static void build(void *arg, const struct publish_item *item, struct publish_message *out)
{
    struct fill *f = arg;

    run_build_message(f->run, item, out);
}

static bool patient(struct fill *f, struct error *err)
{
    const struct error *why;

    if (publisher_down_ms(f->publisher, &why) <= f->run->o.wait_ms)
        return true;
    *err = *why;
    return error_prefix(err, "gave up after %" PRId64 " s", f->run->o.wait_ms / 1000);
}

static void make_some(struct fill *f)
{
    int64_t room = AHEAD - (int64_t)publisher_queued(f->publisher), left = f->count - f->made;
    size_t due;

    if (run_interrupted())
        f->count = f->made;
    if (room <= 0 || left <= 0)
        return;
    due = pace_due(&f->pace, clock_mono_us(), (size_t)(left < room ? left : room));
    while (due-- > 0)
        make_order(f);
}

static int turn_ms(const struct fill *f)
{
    int64_t wait_us = pace_wait_us(&f->pace, clock_mono_us());

    return f->made == f->count || f->pace.per_second <= 0 || wait_us > TURN_MS * 1000 ? TURN_MS
                                                                                      : (int)((wait_us + 999) / 1000);
}

static bool publish_all(struct fill *f, const char *what, struct error *err)
{
    const struct publish_totals *t = publisher_totals(f->publisher);

    progress_begin(&f->run->progress, what);
    pace_init(&f->pace, f->run->o.command == LOAD_RATE ? f->run->o.rate : 0, clock_mono_us());
    f->begun_ms = clock_mono_ms();
    while (f->made < f->count || publisher_open(f->publisher) > 0) {
        make_some(f);
        if (!run_flush_ids(f->run, err))
            return false;
        publisher_turn(f->publisher, turn_ms(f));
        if (!patient(f, err))
            return false;
        progress_show(&f->run->progress, (int64_t)t->confirmed[PUBLISH_ORDER], f->count,
                      "%" PRIu64 " of %" PRId64 " messages confirmed", t->confirmed[PUBLISH_ORDER], f->count);
    }
    f->ended_ms = clock_mono_ms();
    progress_end(&f->run->progress);
    return true;
}

/* Answers false where nothing can be published at all; warns where the orders cannot all become rows. */
static bool begin(struct fill *f, struct watch *watch, struct watch_state *before, struct error *err)
{
    struct run *run = f->run;
    struct publish_calls calls = {.build = build, .sent = on_sent, .arg = f};
    int64_t units = f->count * run->o.quantity;

    if (!run_read_activity(run, err))
        return false;
    if (run->activity.state == ACTIVITY_REVIEW || run->activity.state == ACTIVITY_SETTLED)
        return error_set(err, ERROR_REFUSED, "activity %" PRId64 " is in state %s and takes no orders%s",
                         run->activity.id, activity_state_name(run->activity.state),
                         run->activity.state == ACTIVITY_REVIEW ? ": run `orderctl activity approve`" : "");
    watch_open(watch, run->conf, run->activity.id);
    if (!watch_read(watch, before, err) || !run_open_ids(run, true, err))
        return false;
    if (units > run->activity.available)
        fprintf(stderr,
                "orderload: activity %" PRId64 " has %" PRId64 " units available for %" PRId64
                ": what is over will end as stock_short\n",
                run->activity.id, run->activity.available, units);
    f->publisher = publisher_create(run->conf, &calls);
    return true;
}

static void finish(struct fill *f, struct watch *watch)
{
    watch_close(watch);
    if (f->publisher)
        publisher_destroy(&f->publisher);
    free(f->published_us);
}

enum exitcode fill_run(struct run *run, struct error *err)
{
    struct fill f = {.run = run, .count = run->o.count};
    struct watch watch = {0};
    struct watch_state before, after = {0};
    bool ok = begin(&f, &watch, &before, err) && publish_all(&f, "filling", err);
    struct error ignored = {0};

    if (f.begun_ms) {
        report_measure(&run->report, "seconds", "time it took",
                       (double)((f.ended_ms ? f.ended_ms : clock_mono_ms()) - f.begun_ms) / 1000, 2, "s");
        run_report_publisher(run, f.publisher, (f.ended_ms ? f.ended_ms : clock_mono_ms()) - f.begun_ms);
    }
    if (ok && watch_read(&watch, &after, &ignored))
        report_fact(&run->report, "waiting", "messages waiting in the queue now", after.waiting);
    finish(&f, &watch);
    return ok ? EXIT_OK : EXIT_FAILED;
}

/* ---- rate ---- */

#define PAGE 1000

struct reading {
    struct fill *f;
    int64_t *latency_us; /* of those that have a row */
    size_t count;
};

static bool on_row(void *arg, const struct slice *c, unsigned columns)
{
    struct reading *r = arg;
    uint32_t index = idset_find(&r->f->run->book.ids, c[0]);
    int64_t created_us;

    if (columns != 2 || !db_column_i64(c[1], &created_us) || index == IDSET_NONE || index < r->f->first)
        return false;
    r->latency_us[r->count++] = created_us - r->f->published_us[index - r->f->first];
    return true;
}

static bool read_page(struct reading *r, struct db *db, int64_t from, struct strbuf *sql, struct error *err)
{
    int64_t to = from + PAGE < r->f->made ? from + PAGE : r->f->made;

    strbuf_reset(sql);
    strbuf_add_str(sql,
                   "SELECT order_no,TIMESTAMPDIFF(MICROSECOND,'1970-01-01',created_at) FROM orders WHERE order_no IN(");
    for (int64_t i = from; i < to; i++)
        strbuf_addf(sql, "%s'%s'", i > from ? "," : "",
                    order_no_checked(idset_text(&r->f->run->book.ids, r->f->first + (uint32_t)i)));
    strbuf_add_char(sql, ')');
    return db_query(db, (struct slice){sql->data, sql->len}, on_row, r, err);
}

static bool read_created(struct reading *r, struct error *err)
{
    struct db *db = db_open(r->f->run->conf, err);
    struct strbuf sql = STRBUF_INIT;
    bool ok = db != NULL;

    for (int64_t i = 0; i < r->f->made && ok; i += PAGE)
        ok = read_page(r, db, i, &sql, err);
    strbuf_release(&sql);
    db_close(&db);
    return ok;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static double quantile_ms(const struct reading *r, double q)
{
    size_t rank = (size_t)(q * (double)r->count);

    return (double)r->latency_us[rank < r->count ? rank : r->count - 1] / 1000;
}

static void report_latency(struct run *run, struct reading *r, int64_t made)
{
    report_fact(&run->report, "rows", "of the orders that have a row now", (int64_t)r->count);
    report_check(&run->report, REPORT_LOST, REPORT_EQUAL, 0, made - (int64_t)r->count);
    if (r->count > 0) {
        qsort(r->latency_us, r->count, sizeof *r->latency_us, by_size);
        report_measure(&run->report, "row_p50_ms", "publish to row, half within", quantile_ms(r, 0.5), 2, "ms");
        report_measure(&run->report, "row_p99_ms", "publish to row, 99 % within", quantile_ms(r, 0.99), 2, "ms");
        report_measure(&run->report, "row_p999_ms", "publish to row, 99.9 % within", quantile_ms(r, 0.999), 2, "ms");
        report_measure(&run->report, "row_max_ms", "publish to row, the longest", quantile_ms(r, 1), 2, "ms");
    }
    if (r->count > 0 && r->latency_us[0] < 0)
        fprintf(stderr,
                "orderload: rows are older than their publish by up to %.2f ms: the database's clock differs from "
                "this machine's\n",
                -(double)r->latency_us[0] / 1000);
}

static bool measure(struct fill *f, struct watch *watch, const struct watch_state *before, struct error *err)
{
    const struct load_options *o = &f->run->o;
    struct reading r = {.f = f, .latency_us = check_calloc((size_t)f->made + 1, sizeof *r.latency_us)};
    struct watch_goal goal = {*before, f->made, 0, o->wait_ms, o->settle_ms};
    struct watch_state last;
    bool ok;

    progress_begin(&f->run->progress, "waiting");
    (void)watch_until(watch, &goal, &f->run->progress, &last);
    progress_end(&f->run->progress);
    ok = read_created(&r, err);
    if (ok)
        report_latency(f->run, &r, f->made);
    free(r.latency_us);
    return ok;
}

enum exitcode rate_run(struct run *run, struct error *err)
{
    struct fill f = {.run = run, .count = (int64_t)(run->o.rate * (double)run->o.seconds + 0.5)};
    struct watch watch = {0};
    struct watch_state before = {0};
    bool ok;

    if (f.count < 1)
        f.count = 1;
    f.published_us = check_calloc((size_t)f.count, sizeof *f.published_us);
    ok = begin(&f, &watch, &before, err) && publish_all(&f, "publishing", err);
    if (f.ended_ms) {
        report_measure(&run->report, "seconds", "time it took", (double)(f.ended_ms - f.begun_ms) / 1000, 2, "s");
        run_report_publisher(run, f.publisher, f.ended_ms - f.begun_ms);
    }
    ok = ok && measure(&f, &watch, &before, err);
    finish(&f, &watch);
    return ok && report_good(&run->report) ? EXIT_OK : EXIT_FAILED;
}
