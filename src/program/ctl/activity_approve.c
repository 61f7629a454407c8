/* orderctl activity approve */
#include <inttypes.h>

#include "activity.h"
#include "pay_queue.h"

/* Looked at first, so that a queue is only made for what can be approved; approved last, so that no activity takes
 * orders whose timers have no queue. */
static bool approve(struct ctl *ctl, struct db *db, bool dry_run, bool *approved, struct activity *activity,
                    struct error *err)
{
    if (!activity_store_approve(db, ctl->operand_id, true, approved, activity, err) ||
        !ctl_pay_queue(ctl, activity->pay_timeout_ms, dry_run, err))
        return false;
    if (dry_run || activity_store_approve(db, ctl->operand_id, false, approved, activity, err))
        return true;
    if (error_class_of(err) == ERROR_CLASS_OUTAGE)
        ctl_advise(ctl, "run the same command again: it tells whether the activity was approved");
    return false;
}

bool ctl_activity_approve(struct ctl *ctl, struct error *err)
{
    bool dry_run = ctl->values[CTL_OPTION_activity_approve_dry_run].set, approved, ok;
    struct activity activity;
    struct db *db = ctl_open_schema(ctl, err);

    if (!db)
        return false;
    ok = approve(ctl, db, dry_run, &approved, &activity, err);
    db_close(&db);
    if (!ok)
        return false;
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
