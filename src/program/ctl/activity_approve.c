/* orderctl activity approve */
#include <inttypes.h>

#include "activity.h"

bool ctl_activity_approve(struct ctl *ctl, struct error *err)
{
    bool dry_run = ctl->values[CTL_OPTION_activity_approve_dry_run].set, approved;
    struct activity activity;
    struct db *db = ctl_open_schema(ctl, err);

    if (!db)
        return false;
    if (!activity_store_approve(db, ctl->operand_id, dry_run, &approved, &activity, err)) {
        if (error_class_of(err) == ERROR_CLASS_OUTAGE)
            ctl_advise(ctl, "run the same command again: it tells whether the activity was approved");
        db_close(&db);
        return false;
    }
    db_close(&db);
    if (ctl->json)
        activity_result(&activity, !approved ? "approved_before" : dry_run ? "would_be_approved" : "approved");
    else
        activity_print(ctl, &activity);
    if (!approved)
        print_note(ctl, "activity %" PRId64 " is approved already; nothing was changed", activity.id);
    else if (dry_run)
        print_note(ctl, "it could be approved; nothing was changed");
    else
        print_note(ctl, "approved; `orderctl activity preheat %" PRId64 "` puts its stock into Redis", activity.id);
    return true;
}
