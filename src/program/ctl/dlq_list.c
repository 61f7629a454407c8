/* orderctl dlq list */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dlq.h"
#include "limit.h"
#include "orderd/activity_store.h"
#include "orderd/reason.h"
#include "outbox.h"
#include "record.h"

#define PAGE 1000

struct listing {
    const struct ctl *ctl;
    struct table table;
    struct strbuf line;
    struct limit limit;
};

static void add_row(struct table *t, const struct dead_letter_row *row)
{
    int64_t age = row->now - row->died_at;

    table_number(t, row->id);
    table_text(t, dead_letter_state_name(row->state), dlq_tint(row->state));
    table_slice(t, row->reason, TINT_NONE);
    table_slice(t, row->queue.len ? row->queue : slice_of("-"), TINT_NONE);
    dlq_table_activity(t, row->activity_id);
    table_slice(t, row->order_no.ptr ? row->order_no : slice_of("-"), TINT_NONE);
    table_span(t, age > 0 ? age : 0);
    table_number(t, row->times);
    table_slice(t, row->detail, TINT_NONE);
}

static void list(void *arg, const struct dead_letter_row *row)
{
    struct listing *l = arg;

    if (!limit_take(&l->limit))
        return;
    if (!l->ctl->json) {
        add_row(&l->table, row);
        return;
    }
    record_open(&l->line, NULL, '{');
    dlq_record(&l->line, row);
    record_close(&l->line, '}');
    record_print(&l->line);
}

static bool list_all(struct db *db, const struct dead_letter_filter *filter, struct listing *l, struct error *err)
{
    int64_t after = 0;
    bool end = false;

    while (!end && !l->limit.more && !ferror(stdout)) {
        if (!dead_letter_store_page(db, filter, &after, limit_page(&l->limit, PAGE), list, l, &end, err))
            return false;
        table_flush(l->ctl, &l->table);
        fflush(stdout);
    }
    return true;
}

static void conclude(const struct listing *l)
{
    if (l->limit.more)
        print_note(l->ctl, "these are the first %" PRId64 ", there are more; `--limit 0` lists all", l->limit.most);
    else if (l->limit.listed == 0 && !l->ctl->json)
        print_note(l->ctl, "there is no such letter");
}

static bool choose(struct ctl *ctl, struct db *db, struct dead_letter_filter *f, struct error *err)
{
    const struct ctl_value *v = ctl->values;
    int64_t now;

    if (!activity_store_now(db, &now, err))
        return false;
    f->by_state = v[CTL_OPTION_dlq_list_state].set;
    if (f->by_state)
        (void)dead_letter_state_of_name(outbox_text(&v[CTL_OPTION_dlq_list_state]), &f->state);
    f->reason = outbox_text(&v[CTL_OPTION_dlq_list_reason]);
    f->queue = outbox_text(&v[CTL_OPTION_dlq_list_queue]);
    f->order_no = outbox_text(&v[CTL_OPTION_dlq_list_order]);
    f->activity_id = v[CTL_OPTION_dlq_list_activity].set ? v[CTL_OPTION_dlq_list_activity].number : 0;
    f->since = outbox_instant(&v[CTL_OPTION_dlq_list_since], now);
    f->until = outbox_instant(&v[CTL_OPTION_dlq_list_until], now);
    return true;
}

/* A typing mistake would find nothing, which looks like good news. */
static bool usage(struct ctl *ctl, struct error *err)
{
    const struct ctl_value *reason = &ctl->values[CTL_OPTION_dlq_list_reason];
    const struct ctl_value *order = &ctl->values[CTL_OPTION_dlq_list_order];

    if (reason->set && strcmp(reason->text, DEAD_LETTER_REASON_UNKNOWN) != 0 && !reason_of_name(reason->text))
        return ctl_misuse(ctl, err, "there is no reason \"%.60s\"; `orderctl dlq stats` shows those that occur",
                          reason->text);
    if (order->set && !order_no_valid(slice_of(order->text)))
        return ctl_misuse(ctl, err, "\"%.60s\" is no order number (1 to 28 of [0-9A-Za-z_], with an optional -r<n>)",
                          order->text);
    return true;
}

bool ctl_dlq_list(struct ctl *ctl, struct error *err)
{
    static const char *const heads[] = {"-ID",   "STATE", "REASON",  "QUEUE", "-ACTIVITY",
                                        "ORDER", "-DIED", "-DEATHS", "DETAIL"};
    struct dead_letter_filter filter = {0};
    struct listing l = {.ctl = ctl, .limit.most = ctl->values[CTL_OPTION_dlq_list_limit].number};
    struct db *db;
    bool ok;

    if (!usage(ctl, err) || !(db = ctl_open_schema(ctl, err)))
        return false;
    table_begin(&l.table, heads, sizeof heads / sizeof *heads);
    ok = choose(ctl, db, &filter, err) && list_all(db, &filter, &l, err);
    table_end(ctl, &l.table);
    if (ok)
        conclude(&l);
    strbuf_release(&l.line);
    db_close(&db);
    return ok;
}
