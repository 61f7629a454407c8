/* orderctl activity create */
#include <inttypes.h>
#include <stdio.h>

#include "activity.h"

#define VALUE(name) (&ctl->values[CTL_OPTION_activity_create_##name])

static struct activity_when when_of(const struct ctl_value *v)
{
    return (struct activity_when){v->relative, v->number};
}

static struct activity_draft draft_of(const struct ctl *ctl)
{
    return (struct activity_draft){
        .id = VALUE(id)->number,
        .sku_id = VALUE(sku)->number,
        .unit_price = VALUE(price)->number,
        .total_stock = VALUE(stock)->number,
        .pay_timeout_ms = VALUE(pay_timeout)->number,
        .per_user_limit = VALUE(limit)->number,
        .shards = VALUE(shards)->number,
        .free_amount = VALUE(free_amount)->set,
        .rebuy_after_release = !VALUE(no_rebuy)->set,
        .reservations = !VALUE(no_reservations)->set,
        .title = slice_of(VALUE(title)->text),
        .currency = slice_of(VALUE(currency)->text),
        .starts = when_of(VALUE(starts)),
        .ends = when_of(VALUE(ends)),
    };
}

bool ctl_activity_create(struct ctl *ctl, struct error *err)
{
    bool dry_run = VALUE(dry_run)->set, created;
    struct activity_draft draft = draft_of(ctl);
    struct activity activity;
    struct db *db = ctl_open_schema(ctl, err);

    if (!db)
        return false;
    if (!activity_store_create(db, &draft, dry_run, &created, &activity, err)) {
        if (error_class_of(err) == ERROR_CLASS_OUTAGE)
            ctl_advise(ctl, "run the same command again: it tells whether the activity was written");
        db_close(&db);
        return false;
    }
    db_close(&db);
    if (ctl->json)
        activity_result(&activity, !created ? "exists" : dry_run ? "would_be_created" : "created");
    else
        activity_print(ctl, &activity);
    if (!created)
        print_note(ctl, "activity %" PRId64 " exists already with these values; nothing was changed", activity.id);
    else if (dry_run)
        print_note(ctl, "nothing was written");
    else
        print_note(ctl, "created; `orderctl activity approve %" PRId64 "` freezes it", activity.id);
    return true;
}
