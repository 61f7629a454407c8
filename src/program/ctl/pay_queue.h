/* The delay queue that an activity's timers need: there before the activity takes orders. */
#ifndef ORDERD_CTL_PAY_QUEUE_H
#define ORDERD_CTL_PAY_QUEUE_H

#include "ctl.h"

/* Makes `order.unpaid.<pay_timeout_ms>` where it is missing (dry_run: only looks) and says so. false, with one
 * sentence, where it cannot be had: the activity may not be approved then, since no time-out of its orders would ever
 * be noticed but by the sweep. true, a warning and ctl->code EXIT_PARTIAL where broker.topology leaves it to another
 * account, and this one may not make it or cannot see that it is there. May be repeated. */
ORDERD_MUST_CHECK bool ctl_pay_queue(struct ctl *ctl, int64_t pay_timeout_ms, bool dry_run, struct error *err);

#endif
