/* orderctl activity list */
#include <inttypes.h>
#include <stdio.h>

#include "activity.h"
#include "record.h"

struct listing {
    const struct ctl *ctl;
    struct table table;
};

static void list(void *arg, const struct activity *a)
{
    struct listing *l = arg;
    char text[48];

    if (l->ctl->json) {
        struct strbuf line = STRBUF_INIT;

        record_open(&line, NULL, '{');
        activity_record(&line, a);
        record_close(&line, '}');
        record_print(&line);
        strbuf_release(&line);
        return;
    }
    table_number(&l->table, a->id);
    table_text(&l->table, activity_state_name(a->state), activity_tint(a->state));
    table_time(&l->table, a->starts_at);
    table_time(&l->table, a->ends_at);
    table_text(&l->table, a->preheated ? "yes" : "no", a->preheated ? TINT_NONE : TINT_DIM);
    snprintf(text, sizeof text, "%" PRId64 "/%" PRId64, a->available, a->total_stock);
    table_text(&l->table, text, TINT_NONE);
    table_text(&l->table, a->title, TINT_NONE);
}

bool ctl_activity_list(struct ctl *ctl, struct error *err)
{
    static const char *const heads[] = {"-ID",       "STATE",      "STARTS (UTC)", "ENDS (UTC)",
                                        "PREHEATED", "-AVAILABLE", "TITLE"};
    struct listing l = {.ctl = ctl};
    struct db *db = ctl_open_schema(ctl, err);
    bool ok;

    if (!db)
        return false;
    table_begin(&l.table, heads, 7);
    ok = activity_read(db, NULL, 0, list, &l, err);
    if (ok && !ctl->json && l.table.cells == 0)
        print_note(ctl, "there is no activity; see `orderctl activity create --help`");
    table_end(ctl, &l.table);
    db_close(&db);
    return ok;
}
