/* orderctl outbox list */
#include <inttypes.h>
#include <stdio.h>

#include "orderd/activity_store.h"
#include "limit.h"
#include "outbox.h"
#include "record.h"

#define PAGE 1000

struct listing {
    const struct ctl *ctl;
    struct table table;
    struct strbuf line;
    struct limit limit;
};

static void add_due(struct table *t, const struct local_message_row *row)
{
    int64_t wait = outbox_until(row, row->due_at);
    char span[SPAN_TEXT], text[SPAN_TEXT + 8];

    if (row->state != LOCAL_MESSAGE_STATE_PENDING || row->leased) {
        table_text(t, "-", TINT_DIM);
    } else if (wait > 0) {
        snprintf(text, sizeof text, "in %s", span_text(span, wait));
        table_text(t, text, TINT_NONE);
    } else {
        snprintf(text, sizeof text, "%s late", span_text(span, -wait));
        table_text(t, text, TINT_CHANGED);
    }
}

static void add_row(struct table *t, const struct local_message_row *row)
{
    int64_t age = -outbox_until(row, row->created_at);

    table_number(t, row->id);
    table_text(t, local_message_state_name(row->state), outbox_tint(row->state));
    table_slice(t, row->topic, TINT_NONE);
    table_slice(t, row->key, TINT_NONE);
    table_number(t, row->attempts);
    add_due(t, row);
    table_span(t, age > 0 ? age : 0);
    table_slice(t, row->leased ? row->lease_owner : slice_of("-"), row->leased ? TINT_NONE : TINT_DIM);
    table_slice(t, row->last_error, TINT_NONE);
}

static void list(void *arg, const struct local_message_row *row)
{
    struct listing *l = arg;

    if (!limit_take(&l->limit))
        return;
    if (!l->ctl->json) {
        add_row(&l->table, row);
        return;
    }
    record_open(&l->line, NULL, '{');
    outbox_record(&l->line, row);
    record_close(&l->line, '}');
    record_print(&l->line);
}

static bool list_all(struct ctl *ctl, struct db *db, const struct local_message_filter *filter, struct listing *l,
                     struct error *err)
{
    struct local_message_walk walk = {.filter = filter};

    while (!walk.end && !l->limit.more && !ferror(stdout)) {
        if (!local_message_page(db, &walk, limit_page(&l->limit, PAGE), list, l, err))
            return false;
        table_flush(ctl, &l->table);
        fflush(stdout);
    }
    return true;
}

static void conclude(const struct ctl *ctl, const struct listing *l)
{
    if (l->limit.more)
        print_note(ctl, "these are the first %" PRId64 ", there are more; `--limit 0` lists all", l->limit.most);
    else if (l->limit.listed == 0 && !ctl->json)
        print_note(ctl, "there is no such message");
}

static bool choose(struct ctl *ctl, struct db *db, struct local_message_filter *f, struct error *err)
{
    const struct ctl_value *v = ctl->values;
    int64_t now;

    if (!activity_store_now(db, &now, err))
        return false;
    f->by_state = v[CTL_OPTION_outbox_list_state].set;
    if (f->by_state)
        (void)local_message_state_of_name(outbox_text(&v[CTL_OPTION_outbox_list_state]), &f->state);
    f->topic = outbox_text(&v[CTL_OPTION_outbox_list_topic]);
    f->key = outbox_text(&v[CTL_OPTION_outbox_list_key]);
    f->since = outbox_instant(&v[CTL_OPTION_outbox_list_since], now);
    f->until = outbox_instant(&v[CTL_OPTION_outbox_list_until], now);
    f->due = v[CTL_OPTION_outbox_list_due].set;
    return true;
}

bool ctl_outbox_list(struct ctl *ctl, struct error *err)
{
    static const char *const heads[] = {"-ID",  "STATE", "TOPIC",     "KEY",       "-TRIES",
                                        "-DUE", "-AGE",  "LEASED BY", "LAST ERROR"};
    struct local_message_filter filter = {0};
    struct listing l = {.ctl = ctl, .limit.most = ctl->values[CTL_OPTION_outbox_list_limit].number};
    const struct ctl_value *state = &ctl->values[CTL_OPTION_outbox_list_state];
    struct db *db;
    bool ok;

    if (ctl->values[CTL_OPTION_outbox_list_due].set && state->set && state->number != LOCAL_MESSAGE_STATE_PENDING)
        return ctl_misuse(ctl, err, "--due is about pending messages, not about %s ones", state->text);
    if (!(db = ctl_open_schema(ctl, err)))
        return false;
    table_begin(&l.table, heads, sizeof heads / sizeof *heads);
    ok = choose(ctl, db, &filter, err) && list_all(ctl, db, &filter, &l, err);
    table_end(ctl, &l.table);
    if (ok)
        conclude(ctl, &l);
    strbuf_release(&l.line);
    db_close(&db);
    return ok;
}
