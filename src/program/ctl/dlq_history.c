/* orderctl dlq history */
#include <inttypes.h>
#include <stdio.h>

#include "dlq.h"
#include "orderd/activity_store.h"
#include "orderd/clock.h"
#include "outbox.h"
#include "record.h"

#define PAGE 1000

struct recounting {
    struct ctl *ctl;
    struct table table;
    struct strbuf line;
    int64_t count;
};

static void recount(void *arg, const struct dead_letter_action *a)
{
    struct recounting *r = arg;
    char iso[32];

    r->count++;
    if (r->ctl->json) {
        dlq_record_action(&r->line, a);
        record_print(&r->line);
        return;
    }
    clock_format_iso(iso, sizeof iso, a->done_at);
    table_text(&r->table, iso, TINT_NONE);
    table_number(&r->table, a->letter_id);
    table_slice(&r->table, a->action, TINT_NONE);
    table_slice(&r->table, a->who, TINT_NONE);
    table_slice(&r->table, a->note, TINT_NONE);
}

static bool choose(struct ctl *ctl, struct db *db, const struct dlq_ids *ids, struct dead_letter_action_filter *f,
                   struct error *err)
{
    const struct ctl_value *v = ctl->values;
    int64_t now;

    if (!activity_store_now(db, &now, err))
        return false;
    *f = (struct dead_letter_action_filter){
        .letters = ids->list,
        .letter_count = ids->count,
        .who = outbox_text(&v[CTL_OPTION_dlq_history_who]),
        .action = outbox_text(&v[CTL_OPTION_dlq_history_action]),
        .since = outbox_instant(&v[CTL_OPTION_dlq_history_since], now),
        .until = outbox_instant(&v[CTL_OPTION_dlq_history_until], now),
    };
    return !f->since || !f->until || dlq_is_span(ctl, f->since, f->until, err);
}

static bool recount_all(struct recounting *r, struct db *db, const struct dead_letter_action_filter *f,
                        struct error *err)
{
    int64_t limit = r->ctl->values[CTL_OPTION_dlq_history_limit].number, after = 0;
    bool end = false;

    if (limit && !dead_letter_actions_last(db, f, limit, &after, err))
        return false;
    while (!end && !ferror(stdout)) {
        if (!dead_letter_actions(db, f, &after, PAGE, recount, r, &end, err))
            return false;
        table_flush(r->ctl, &r->table);
        fflush(stdout);
    }
    return true;
}

static void conclude(const struct recounting *r, bool nobody)
{
    if (nobody)
        print_note(r->ctl, "standard input named no letter");
    else if (r->count == 0 && !r->ctl->json)
        print_note(r->ctl, "nothing of this kind was done so far");
}

bool ctl_dlq_history(struct ctl *ctl, struct error *err)
{
    static const char *const heads[] = {"WHEN", "-LETTER", "ACTION", "WHO", "NOTE"};
    struct dead_letter_action_filter filter;
    struct recounting r = {.ctl = ctl};
    struct dlq_ids ids = {0};
    struct db *db = NULL;
    bool ok, nobody;

    table_begin(&r.table, heads, sizeof heads / sizeof *heads);
    ok = dlq_ids_read(ctl, &ids, err) && (db = ctl_open_schema(ctl, err)) && choose(ctl, db, &ids, &filter, err);
    nobody = ctl->operand_count > 0 && ids.count == 0; /* which is not everybody */
    ok = ok && (nobody || recount_all(&r, db, &filter, err));
    table_end(ctl, &r.table);
    if (ok)
        conclude(&r, nobody);
    strbuf_release(&r.line);
    db_close(&db);
    dlq_ids_free(&ids);
    return ok;
}
