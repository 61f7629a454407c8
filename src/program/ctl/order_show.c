/* orderctl order show: one order in MySQL, its payments, its local messages and dead letters, and what Redis has of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dlq_made.h"
#include "order.h"
#include "orderd/activity.h"
#include "orderd/arena.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/local_message_admin.h"
#include "orderd/order_record.h"
#include "orderd/stock.h"
#include "table.h"
#include "record.h"

/* The local messages that an order has under its own number; a message of several orders is found under the first. */
static const char *const prefixes[] = {
    "order.create",     "recover",      "event.order.created", "order.unpaid",         "timer",      "stock.settle",
    "event.order.paid", "stock.return", "event.order.closed",  "event.order.rejected", "order.dead",
};

#define PREFIXES (sizeof prefixes / sizeof *prefixes)

struct message {
    const char *key;
    bool there;
    enum local_message_state state;
};

struct payment {
    struct order_payment row; /* text in the arena */
    struct payment *next;
};

struct letter {
    struct dead_letter_of_order row; /* text in the arena */
    struct letter *next;
};

struct view {
    struct arena *arena;
    struct letter *letters, **letters_end;
    struct order_record record;
    struct payment *payments, **payments_end;
    size_t payment_count, message_count;
    struct message *messages;
    bool redis_read, settled;
    struct stock_seen seen;
};

/* ---- read ---- */

static struct slice keep(struct arena *arena, struct slice s)
{
    return (struct slice){arena_strndup(arena, s.ptr, s.len), s.len};
}

static void note_payment(void *arg, const struct order_payment *p)
{
    struct view *v = arg;
    struct payment *copy = arena_zalloc(v->arena, sizeof *copy);

    copy->row = *p;
    copy->row.ref = keep(v->arena, p->ref);
    copy->row.reason = keep(v->arena, p->reason);
    v->payment_count++;
    *v->payments_end = copy;
    v->payments_end = &copy->next;
}

static void note_message(void *arg, size_t index, const struct local_message_row *row)
{
    struct message *messages = arg;

    messages[index].there = true;
    messages[index].state = row->state;
}

static void add_key(struct view *v, const char *prefix, struct slice name)
{
    char key[LOCAL_MESSAGE_KEY_MAX + 1];
    int len = snprintf(key, sizeof key, "%s:%.*s", prefix, (int)name.len, name.ptr);

    CHECK(len < (int)sizeof key);
    v->messages[v->message_count++].key = arena_strndup(v->arena, key, (size_t)len);
}

/* Under the order's number, and under each of its payments: that is how the event of a refund is kept. */
static void list_keys(struct view *v)
{
    v->messages = arena_zalloc(v->arena, (PREFIXES + v->payment_count) * sizeof *v->messages);
    for (size_t i = 0; i < PREFIXES; i++)
        add_key(v, prefixes[i], slice_of(v->record.order.order_no));
    for (const struct payment *p = v->payments; p; p = p->next)
        add_key(v, "event.order.refund_due", p->row.ref);
}

static void note_letter(void *arg, const struct dead_letter_of_order *letter)
{
    struct view *v = arg;
    struct letter *copy = arena_zalloc(v->arena, sizeof *copy);

    copy->row = *letter;
    copy->row.reason = keep(v->arena, letter->reason);
    *v->letters_end = copy;
    v->letters_end = &copy->next;
}

static bool read_messages(struct db *db, struct view *v, struct error *err)
{
    bool ok = true;

    list_keys(v);
    for (size_t from = 0; ok && from < v->message_count; from += LOCAL_MESSAGE_FIND_MAX) {
        size_t left = v->message_count - from, count = left < LOCAL_MESSAGE_FIND_MAX ? left : LOCAL_MESSAGE_FIND_MAX;
        struct local_message_ref refs[LOCAL_MESSAGE_FIND_MAX];

        for (size_t i = 0; i < count; i++)
            refs[i] = (struct local_message_ref){.key = slice_of(v->messages[from + i].key)};
        ok = local_message_find(db, refs, count, note_message, v->messages + from, err);
    }
    return ok;
}

static void note_activity(void *arg, const struct activity *activity)
{
    ((struct view *)arg)->settled = activity->state == ACTIVITY_SETTLED;
}

static bool read_settled(struct db *db, struct view *v, struct error *err)
{
    return activity_read(db, &v->record.order.activity_id, 1, note_activity, v, err);
}

static bool read_database(struct ctl *ctl, const char *order_no, struct view *v, struct error *err)
{
    struct db *db = ctl_open_schema(ctl, err);
    bool found = false, ok = db && order_record_read(db, order_no, &v->record, &found, err) &&
                             order_record_payments(db, order_no, note_payment, v, err);

    if (ok && !found) {
        ctl_advise(ctl,
                   "an order that was taken a moment ago may still be on its way; `orderctl reconcile` names what is "
                   "reserved without an order");
        ok = error_set(err, ERROR_REFUSED, "there is no order %s", order_no);
    }
    ok = ok && read_messages(db, v, err) && dead_letters_of_order(db, order_no, note_letter, v, err) &&
         read_settled(db, v, err);
    db_close(&db);
    return ok;
}

static bool read_redis(struct ctl *ctl, struct view *v, struct error *err)
{
    const struct order *o = &v->record.order;
    struct stock_sought sought = {o->shard, slice_of(o->order_no), o->user_id, o->user_seq};
    struct kv *kv = ctl_open_kv(ctl, err);
    int64_t now;
    bool ok = kv && stock_look(kv, o->activity_id, &sought, 1, &v->seen, &now, err);

    kv_close(&kv);
    return ok;
}

/* ---- what is said of it ---- */

/* What Redis has: held, returned, forfeited, refused, sold, or unknown. */
static const char *ledger_word(const struct stock_seen *seen)
{
    if (seen->held)
        return "held";
    if (!seen->gone_valid)
        return "damaged";
    return seen->gone == STOCK_GONE_NONE ? "unknown" : stock_gone_name(seen->gone);
}

static bool ledger_is_empty(const struct stock_seen *seen)
{
    return !seen->held && seen->gone_valid && seen->gone == STOCK_GONE_NONE && !seen->marked;
}

static const char *mark_word(const struct stock_seen *seen)
{
    return seen->mark_own ? "own" : seen->marked ? "another order" : "free";
}

/* ---- JSON ---- */

static void record_row(struct strbuf *line, const struct order_record *r)
{
    const struct order *o = &r->order;

    record_text(line, "order_no", o->order_no);
    record_number(line, "activity_id", o->activity_id);
    record_number(line, "user_id", o->user_id);
    record_number(line, "user_seq", o->user_seq);
    record_number(line, "sku_id", o->sku_id);
    record_number(line, "quantity", o->quantity);
    record_number(line, "amount", o->amount);
    record_number(line, "shard", o->shard);
    record_number(line, "epoch", o->epoch);
    record_text(line, "status", order_status_name(r->status));
    record_text(line, "reason", r->reason[0] ? r->reason : NULL);
    record_bool(line, "overdue", r->overdue);
    record_number(line, "units_returned", r->units_returned);
    record_number(line, "units_forfeited", r->units_forfeited);
    record_text(line, "replaces", r->replaces[0] ? r->replaces : NULL);
    record_text(line, "replaced_by", r->replaced_by[0] ? r->replaced_by : NULL);
    record_time(line, "reserved_at", o->reserved_at);
    record_time(line, "created_at", r->created_at);
    record_time(line, "expires_at", r->expires_at);
    record_time(line, "paid_at", r->paid_at);
    record_time(line, "closed_at", r->closed_at);
}

static void record_payments(struct strbuf *line, const struct view *v)
{
    record_open(line, "payments", '[');
    for (const struct payment *p = v->payments; p; p = p->next) {
        record_open(line, NULL, '{');
        record_slice(line, "payment_ref", p->row.ref);
        record_number(line, "amount", p->row.amount);
        record_text(line, "outcome", payment_outcome_name(p->row.outcome));
        record_slice(line, "reason", p->row.reason);
        record_time(line, "paid_at", p->row.paid_at);
        record_time(line, "decided_at", p->row.decided_at);
        record_close(line, '}');
    }
    record_close(line, ']');
}

static void record_letters(struct strbuf *line, const struct view *v)
{
    record_open(line, "dead_letters", '[');
    for (const struct letter *l = v->letters; l; l = l->next) {
        record_open(line, NULL, '{');
        record_number(line, "id", l->row.id);
        record_text(line, "state", dead_letter_state_name(l->row.state));
        record_slice(line, "reason", l->row.reason);
        record_bool(line, "sent", l->row.sent);
        record_bool(line, "new_order", l->row.new_order);
        record_close(line, '}');
    }
    record_close(line, ']');
}

static void print_record(const struct view *v)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_row(&line, &v->record);
    record_payments(&line, v);
    record_open(&line, "messages", '[');
    for (size_t i = 0; i < v->message_count; i++) {
        if (!v->messages[i].there)
            continue;
        record_open(&line, NULL, '{');
        record_text(&line, "key", v->messages[i].key);
        record_text(&line, "state", local_message_state_name(v->messages[i].state));
        record_close(&line, '}');
    }
    record_close(&line, ']');
    record_letters(&line, v);
    record_text(&line, "redis", v->redis_read ? ledger_word(&v->seen) : NULL);
    record_text(&line, "mark", v->redis_read ? mark_word(&v->seen) : NULL);
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

/* ---- text ---- */

static void begin_line(const char *name)
{
    printf("  %-12s", name);
}

static void print_time(const char *name, int64_t ms)
{
    char text[32];

    if (ms == 0)
        return;
    clock_format_iso(text, sizeof text, ms);
    begin_line(name);
    puts(text);
}

static void print_state(const struct ctl *ctl, const struct order_record *r)
{
    static const enum tint tints[ORDER_STATUS_COUNT] = {[ORDER_PENDING] = TINT_CHANGED,
                                                        [ORDER_PAID] = TINT_GOOD,
                                                        [ORDER_CLOSED] = TINT_DIM,
                                                        [ORDER_REJECTED] = TINT_DIM};

    begin_line("state");
    print_word(ctl, order_status_name(r->status), 0, tints[r->status]);
    if (r->reason[0])
        printf(", %s", r->reason);
    fputs(r->overdue ? ", its time to pay is over\n" : "\n", stdout);
}

static void print_row(const struct ctl *ctl, const struct order_record *r)
{
    const struct order *o = &r->order;

    printf("order %s\n", o->order_no);
    print_state(ctl, r);
    begin_line("activity");
    printf("%" PRId64 ", shard %" PRId32 ", epoch %" PRId32 "\n", o->activity_id, o->shard, o->epoch);
    begin_line("buyer");
    printf("user %" PRId64 ", mark %" PRId32 "\n", o->user_id, o->user_seq);
    begin_line("buys");
    printf("%" PRId32 " of SKU %" PRId64 " for %" PRId64 " (minor units)\n", o->quantity, o->sku_id, o->amount);
    print_time("reserved", o->reserved_at);
    print_time("created", r->created_at);
    print_time("to be paid", r->expires_at);
    print_time("paid", r->paid_at);
    print_time("ended", r->closed_at);
    if (!order_status_live(r->status)) {
        begin_line("units");
        printf("%" PRId64 " given back, %" PRId64 " forfeited\n", r->units_returned, r->units_forfeited);
    }
    if (r->replaces[0]) {
        begin_line("replaces");
        puts(r->replaces);
    }
    if (r->replaced_by[0]) {
        begin_line("replaced by");
        puts(r->replaced_by);
    }
}

static void print_ledger(const struct view *v)
{
    if (!v->redis_read)
        return;
    begin_line("in Redis");
    if (v->settled && ledger_is_empty(&v->seen)) {
        puts("nothing any more: the activity is settled");
        return;
    }
    printf("%s; its buyer's mark: %s\n", ledger_word(&v->seen), mark_word(&v->seen));
}

static void print_payments(const struct ctl *ctl, const struct view *v)
{
    static const char *const heads[] = {"  PAYMENT", "-AMOUNT", "OUTCOME", "REASON", "DECIDED"};
    struct table t;

    if (!v->payments)
        return;
    putchar('\n');
    table_begin(&t, heads, 5);
    for (const struct payment *p = v->payments; p; p = p->next) {
        char ref[80];

        snprintf(ref, sizeof ref, "  %s", p->row.ref.ptr);
        table_text(&t, ref, TINT_NONE);
        table_number(&t, p->row.amount);
        table_text(&t, payment_outcome_name(p->row.outcome),
                   p->row.outcome == PAYMENT_APPLIED ? TINT_GOOD : TINT_CHANGED);
        table_slice(&t, p->row.reason, TINT_NONE);
        table_time(&t, p->row.decided_at);
    }
    table_end(ctl, &t);
}

static void print_messages(const struct ctl *ctl, const struct view *v)
{
    static const char *const heads[] = {"  LOCAL MESSAGE", "STATE"};
    struct table t;
    size_t shown = 0;

    table_begin(&t, heads, 2);
    for (size_t i = 0; i < v->message_count; i++) {
        const struct message *m = &v->messages[i];
        char key[LOCAL_MESSAGE_KEY_MAX + 4];

        if (!m->there)
            continue;
        if (shown++ == 0)
            putchar('\n');
        snprintf(key, sizeof key, "  %s", m->key);
        table_text(&t, key, TINT_NONE);
        table_text(&t, local_message_state_name(m->state),
                   m->state == LOCAL_MESSAGE_STATE_QUARANTINED ? TINT_BAD : TINT_NONE);
    }
    table_end(ctl, &t);
}

static void print_letters(const struct ctl *ctl, const struct view *v)
{
    static const char *const heads[] = {"  DEAD LETTER", "STATE", "REASON", "WHAT"};
    struct table t;

    if (!v->letters)
        return;
    putchar('\n');
    table_begin(&t, heads, 4);
    for (const struct letter *l = v->letters; l; l = l->next) {
        char id[32];

        snprintf(id, sizeof id, "  %" PRId64, l->row.id);
        table_text(&t, id, TINT_NONE);
        table_text(&t, dead_letter_state_name(l->row.state), dlq_tint(l->row.state));
        table_slice(&t, l->row.reason, TINT_NONE);
        table_text(&t, dlq_made_relation(&l->row), TINT_NONE);
    }
    table_end(ctl, &t);
}

bool ctl_order_show(struct ctl *ctl, struct error *err)
{
    struct view v = {.payments_end = NULL};
    struct error redis = {0};
    const char *order_no;
    bool ok;

    if (!order_operand(ctl, &order_no, err))
        return false;
    v.arena = arena_create(4096);
    v.payments_end = &v.payments;
    v.letters_end = &v.letters;
    ok = read_database(ctl, order_no, &v, err);
    if (ok) {
        v.redis_read = read_redis(ctl, &v, &redis);
        if (ctl->json) {
            print_record(&v);
        } else {
            print_row(ctl, &v.record);
            print_ledger(&v);
            print_payments(ctl, &v);
            print_messages(ctl, &v);
            print_letters(ctl, &v);
        }
        if (!v.redis_read) {
            print_warning("Redis is not shown: %s", redis.text);
            ctl->code = EXIT_PARTIAL;
        }
    }
    arena_destroy(&v.arena);
    return ok;
}
