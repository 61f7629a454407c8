/* orderctl dlq list */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dlq.h"
#include "limit.h"
#include "record.h"

#define PAGE 1000

struct listing {
    struct ctl *ctl;
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

static bool list_chosen(struct db *db, const struct dead_letter_filter *filter, struct listing *l, struct error *err)
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

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Ascending, as those that are chosen. */
static bool list_named(struct db *db, struct dlq_selection *s, struct listing *l, struct error *err)
{
    struct dlq_walk walk = {.of = s};

    if (s->ids.count)
        qsort(s->ids.list, s->ids.count, sizeof *s->ids.list, by_number);
    while (!walk.end && !l->limit.more && !ferror(stdout)) {
        if (!dlq_walk_next(db, &walk, err))
            return false;
        if (walk.count &&
            !list_chosen(db, &(struct dead_letter_filter){.ids = walk.ids, .id_count = walk.count}, l, err))
            return false;
    }
    return true;
}

static void conclude(const struct listing *l, const struct dlq_selection *s)
{
    int64_t missing = (int64_t)s->ids.count - l->limit.listed;

    if (l->limit.more)
        print_note(l->ctl, "these are the first %" PRId64 ", there are more; `--limit 0` lists all", l->limit.most);
    else if (l->limit.listed == 0 && !l->ctl->json && !s->named)
        print_note(l->ctl, "there is no such letter");
    else if (s->named && s->ids.count == 0)
        print_note(l->ctl, "standard input named no letter");
    if (!s->named || l->limit.more || missing == 0)
        return;
    print_warning("%" PRId64 " of the %zu letters are not there", missing, s->ids.count);
    l->ctl->code = EXIT_PARTIAL;
}

bool ctl_dlq_list(struct ctl *ctl, struct error *err)
{
    static const char *const heads[] = {"-ID",    "STATE", "REASON",   "?QUEUE", "?-ACTIVITY",
                                        "=ORDER", "-DIED", "?-DEATHS", "DETAIL"};
    struct listing l = {.ctl = ctl, .limit.most = ctl->values[CTL_OPTION_dlq_list_limit].number};
    struct dlq_selection s;
    struct db *db = NULL;
    bool ok;

    table_begin(&l.table, heads, sizeof heads / sizeof *heads);
    ok = dlq_select(ctl, false, &s, err) && (db = ctl_open_schema(ctl, err)) && dlq_select_times(ctl, db, &s, err) &&
         (s.named ? list_named(db, &s, &l, err) : list_chosen(db, &s.filter, &l, err));
    table_end(ctl, &l.table);
    if (ok)
        conclude(&l, &s);
    strbuf_release(&l.line);
    dlq_select_free(&s);
    db_close(&db);
    return ok;
}
