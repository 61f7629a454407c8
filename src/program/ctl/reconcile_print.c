/* What a reconciliation found and did, for people, in 80 columns. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/units.h"
#include "reconcile.h"

#define WIDTH 79

/* Words on lines of at most WIDTH columns, each begun with indent spaces; the first goes on at `column`. */
static void put_words(int column, int indent, const char *text)
{
    while (*text) {
        int len = (int)strcspn(text, " ");

        if (column + 1 + len > WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", len, text);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void put_indented(int indent, const char *text)
{
    printf("%*s", indent, "");
    put_words(indent, indent, text);
}

static void begin_verdict(const struct ctl *ctl, bool good)
{
    fputs("  ", stdout);
    print_word(ctl, good ? "yes" : "NO", 5, good ? TINT_GOOD : TINT_BAD);
}

static int64_t count_of(const struct balance_report *r, enum finding_kind kind)
{
    return r->by_kind[kind].findings;
}

/* ---- the sums ---- */

static void print_redis(const struct ctl *ctl, const struct balance_report *r)
{
    const struct balance_sums *s = &r->sums;
    int64_t off = count_of(r, FINDING_SHARD_UNBALANCED);
    int64_t unreadable = r->activity.shards - r->shards_present;

    begin_verdict(ctl, unreadable == 0);
    printf("%d of %d shards are in Redis\n", r->shards_present, r->activity.shards);
    if (unreadable > 0)
        return;
    if (r->activity.reservations) {
        begin_verdict(ctl, off == 0);
        printf("each shard: cap = left + held + sold + forfeited\n"
               "       all: %" PRId64 " = %" PRId64 " + %" PRId64 " + %" PRId64 " + %" PRId64 "\n",
               s->cap, s->left, s->held, s->sold, s->forfeited);
    }
    begin_verdict(ctl, count_of(r, FINDING_CAP_TOTAL) == 0);
    printf("caps %" PRId64 " + in transfer %" PRId64 " = total stock %" PRId64 "\n", s->cap, s->transfer,
           r->activity.total_stock);
}

static void print_both(const struct ctl *ctl, const struct balance_report *r)
{
    const struct balance_sums *s = &r->sums;

    if (s->quiet) {
        begin_verdict(ctl, s->unexplained == 0);
    } else {
        fputs("  ", stdout);
        print_word(ctl, "-", 5, TINT_DIM);
    }
    printf("available %" PRId64 " = left %" PRId64 " + held without a live order %" PRId64 "\n"
           "       + forfeited %" PRId64 " + in transfer %" PRId64 " - live unknown to Redis %" PRId64 "\n",
           s->available, s->left, s->held_without_live, s->forfeited, s->transfer, s->live_unknown);
    if (!s->quiet)
        fputs("       (Of different moments, since the sale went on, or units are not known;\n"
              "       instead every order was compared by its number, both ways.)\n",
              stdout);
}

static void print_sums(const struct ctl *ctl, const struct balance_report *r)
{
    const struct balance_sums *s = &r->sums;

    fputs("\n  Does it add up? (units)\n", stdout);
    if (r->shards_present > 0 || count_of(r, FINDING_SHARD_MISSING) > 0 || count_of(r, FINDING_SHARD_DAMAGED) > 0)
        print_redis(ctl, r);
    begin_verdict(ctl, count_of(r, FINDING_DB_UNBALANCED) + count_of(r, FINDING_STOCK_ROW_MISSING) +
                               count_of(r, FINDING_STOCK_TOTAL_DIFFERS) + count_of(r, FINDING_OVERSOLD) ==
                           0);
    printf("MySQL: total %" PRId64 " = available %" PRId64 " + live %" PRId64 "\n", s->total, s->available, s->live);
    if (r->activity.reservations && r->shards_present == r->activity.shards)
        print_both(ctl, r);
}

/* ---- in flight, and the queues ---- */

static void print_window(const struct reconcile *r)
{
    const struct balance_report *b = &r->before;
    int64_t findings = 0, units = 0;
    char window[32], text[400];

    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++) {
        if (finding_mender((enum finding_kind)kind) != FINDING_MENDER_NOBODY)
            continue;
        findings += b->by_kind[kind].findings;
        units += b->by_kind[kind].units;
    }
    units_format_duration(window, sizeof window, r->run.in_flight_ms);
    snprintf(text, sizeof text,
             "In flight: orders %" PRId64 ", units %" PRId64 ". What was reserved, paid or closed less than %s ago, or "
             "waits in a queue or a local message, is on its way from one side to the other and is no gap.",
             findings, units, window);
    putchar('\n');
    put_indented(2, text);
}

static void print_queues(const struct reconcile *r)
{
    const struct reconcile_queues *q = &r->queues;
    struct strbuf text = STRBUF_INIT;

    if (!q->read)
        return;
    for (size_t i = 0; i < q->count; i++) {
        const struct reconcile_queue *queue = &q->list[i];
        const char *comma = i + 1 < q->count ? ", " : "";

        if (queue->known)
            strbuf_addf(&text, "%s %" PRId64 "%s", queue->name, queue->messages, comma);
        else
            strbuf_addf(&text, "%s (missing)%s", queue->name, comma);
    }
    fputs("  Messages waiting:", stdout);
    put_words(19, 4, text.data);
    strbuf_release(&text);
}

/* ---- the gaps ---- */

static enum tint tint_of(enum finding_kind kind)
{
    static const enum tint tints[] = {[FINDING_MENDER_NOBODY] = TINT_DIM,
                                      [FINDING_MENDER_WALK] = TINT_CHANGED,
                                      [FINDING_MENDER_REPAIR] = TINT_BAD,
                                      [FINDING_MENDER_PERSON] = TINT_BAD};

    return tints[finding_mender(kind)];
}

static void print_counts(const struct ctl *ctl, const struct balance_report *b)
{
    static const char *const heads[] = {"  FOUND", "-COUNT", "-UNITS", "MENDED BY"};
    struct table t;

    table_begin(&t, heads, 4);
    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++) {
        enum finding_kind k = (enum finding_kind)kind;
        char name[48];

        if (b->by_kind[kind].findings == 0)
            continue;
        snprintf(name, sizeof name, "  %s", finding_name(k));
        table_text(&t, name, tint_of(k));
        table_number(&t, b->by_kind[kind].findings);
        table_number(&t, b->by_kind[kind].units);
        table_text(&t, finding_mender_name(finding_mender(k)), tint_of(k));
    }
    if (t.cells > 0)
        putchar('\n');
    table_end(ctl, &t);
}

static void add_row(struct table *t, const struct balance_finding *f)
{
    char name[64], shard[16];

    snprintf(name, sizeof name, "    %s", f->order.order_no[0] ? f->order.order_no : "-");
    snprintf(shard, sizeof shard, "%d", f->shard);
    table_text(t, name, TINT_NONE);
    table_text(t, f->shard < 0 ? "-" : shard, TINT_NONE);
    table_number(t, f->units);
    table_text(t, f->detail, TINT_NONE);
}

static void print_kind(const struct reconcile *r, enum finding_kind kind)
{
    static const char *const heads[] = {"    ORDER", "-SHARD", "-UNITS", "DETAIL"};
    int64_t all = count_of(&r->before, kind);
    struct table t;
    size_t shown = 0;

    printf("\n  ");
    print_word(r->ctl, finding_name(kind), 0, tint_of(kind));
    putchar(':');
    put_words((int)strlen(finding_name(kind)) + 3, 4, finding_sentence(kind));
    fputs("    ", stdout);
    print_word(r->ctl, finding_mender(kind) == FINDING_MENDER_PERSON ? "a person:" : "repair:", 0, TINT_DIM);
    put_words(13, 6, finding_mends(kind));
    table_begin(&t, heads, 4);
    for (size_t i = 0; i < r->shown.count; i++) {
        if (r->shown.list[i].kind != kind)
            continue;
        add_row(&t, &r->shown.list[i]);
        shown++;
    }
    table_end(r->ctl, &t);
    if ((int64_t)shown < all)
        printf("    and %" PRId64 " more; --limit 0 lists them all\n", all - (int64_t)shown);
}

void reconcile_print_found(const struct reconcile *r)
{
    const struct activity *a = &r->before.activity;

    printf("activity %" PRId64 "  ", a->id);
    print_word(r->ctl, a->title, 0, TINT_NONE);
    printf("\n  %s, epoch %" PRId32 "; compared: %" PRId64 " reservations, %" PRId64 " live orders, %" PRId64 " done\n",
           activity_state_name(a->state), a->epoch, r->before.held_orders, r->before.live_orders,
           r->before.done_orders);
    print_sums(r->ctl, &r->before);
    print_window(r);
    print_queues(r);
    print_counts(r->ctl, &r->before);
    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++) {
        if (count_of(&r->before, (enum finding_kind)kind) > 0 &&
            finding_mender((enum finding_kind)kind) != FINDING_MENDER_NOBODY)
            print_kind(r, (enum finding_kind)kind);
    }
    fflush(stdout);
}

/* ---- what was done ---- */

const char *reconcile_result(const struct reconcile *r, enum balance_mended mended)
{
    static const char *const names[] = {[BALANCE_MENDED] = "mended",
                                        [BALANCE_MENDED_BEFORE] = "mended_before",
                                        [BALANCE_MENDED_NOT] = "not_mended",
                                        [BALANCE_MENDED_OTHER] = "left"};

    return r->mode == RECONCILE_DRY_RUN ? "would_be_mended" : names[mended];
}

static void add_outcome(const struct reconcile *r, struct table *t, size_t i)
{
    const struct balance_finding *f = &r->mending.list[i];
    const struct balance_outcome *o = &r->outcomes[i];
    char name[64];

    if (f->order.order_no[0])
        snprintf(name, sizeof name, "  %s", f->order.order_no);
    else if (f->shard >= 0)
        snprintf(name, sizeof name, "  shard %d", f->shard);
    else
        snprintf(name, sizeof name, "  MySQL");
    table_text(t, name, TINT_NONE);
    table_text(t, reconcile_result(r, o->mended), o->mended == BALANCE_MENDED_NOT ? TINT_BAD : TINT_CHANGED);
    table_text(t, o->text, TINT_NONE);
}

void reconcile_print_done(const struct reconcile *r)
{
    static const char *const heads[] = {"  REPAIR", "RESULT", "WHAT"};
    struct table t;

    if (r->mode == RECONCILE_LOOK)
        return;
    table_begin(&t, heads, 3);
    for (size_t i = 0; i < r->mending.count; i++)
        add_outcome(r, &t, i);
    if (r->mending.count > 0)
        putchar('\n');
    table_end(r->ctl, &t);
    if (r->mode == RECONCILE_REPAIR && r->mending.count > 0) {
        fputs("\n  Afterwards:\n", stdout);
        print_counts(r->ctl, &r->after);
    }
}

static void print_advice(const struct reconcile *r)
{
    int64_t id = r->run.activity_id;

    if (r->mendable > (int64_t)r->mending.count && r->mode != RECONCILE_LOOK)
        print_note(r->ctl,
                   "activity %" PRId64 ": %" PRId64 " of %" PRId64 " were taken; run it again for the rest, or "
                   "raise --max",
                   id, (int64_t)r->mending.count, r->mendable);
    if (r->mode == RECONCILE_DRY_RUN)
        print_note(r->ctl, "nothing was changed");
    if (r->mode == RECONCILE_LOOK && r->mendable > 0)
        print_note(r->ctl, "`orderctl reconcile --activity %" PRId64 " --repair --dry-run` shows what can be mended",
                   id);
}

void reconcile_print_verdict(const struct reconcile *r)
{
    static const enum tint tints[] = {TINT_GOOD, TINT_CHANGED, TINT_BAD};
    static const char *const words[] = {"clean: both sides agree in every order",
                                        "explained: nothing is wrong that does not mend by itself",
                                        "BROKEN: somebody must act, see above"};

    fputs("\n  ", stdout);
    print_word(r->ctl,
               r->mode == RECONCILE_REPAIR && r->verdict == BALANCE_EXPLAINED && r->repaired > 0
                   ? "explained: what was wrong is mended, or mends by itself now"
                   : words[r->verdict],
               0, tints[r->verdict]);
    fputs("\n\n", stdout);
    fflush(stdout);
    print_advice(r);
}
