/* Names and judgements of what is looked at. */
#include "orderd/admin.h"

#include "orderd/check.h"

static const char *const phases[] = {
#define X(phase, name) [ADMIN_##phase] = name,
#include "orderd/tbl/admin_phase.h"
#undef X
};

static const struct {
    const char *name;
    bool decides;
} roles[] = {
#define X(role, name, decides) [ADMIN_##role] = {name, decides},
#include "orderd/tbl/admin_role.h"
#undef X
};

const char *admin_phase_name(enum admin_phase phase)
{
    CHECK(phase < ADMIN_PHASE_COUNT);
    return phases[phase];
}

const char *admin_role_name(enum admin_role role)
{
    CHECK(role < ADMIN_ROLE_COUNT);
    return roles[role].name;
}

bool admin_role_decides(enum admin_role role)
{
    CHECK(role < ADMIN_ROLE_COUNT);
    return roles[role].decides;
}

bool admin_worker_stuck(const struct admin_view *view, const struct admin_worker *w)
{
    return w->condition.state != LANE_STOPPED && w->beat_age_ms > view->beat_limit_ms;
}

const char *admin_stuck(const struct admin_view *view)
{
    if (view->main_age_ms > view->beat_limit_ms)
        return "main";
    for (size_t i = 0; i < view->worker_count; i++) {
        if (admin_worker_stuck(view, &view->workers[i]))
            return view->workers[i].name;
    }
    return NULL;
}

int64_t admin_in_hand(const struct admin_view *view)
{
    int64_t all = 0;

    for (size_t i = 0; i < view->worker_count; i++)
        all += view->workers[i].condition.in_hand;
    return all;
}

bool admin_view_ready(const struct admin_view *view)
{
    if (view->phase != ADMIN_RUNNING)
        return false;
    for (size_t i = 0; i < view->worker_count; i++) {
        const struct admin_worker *w = &view->workers[i];

        if (admin_role_decides(w->role) && !admin_worker_ready(view, w))
            return false;
    }
    return true;
}

bool admin_worker_ready(const struct admin_view *view, const struct admin_worker *worker)
{
    const struct lane_condition *c = &worker->condition;

    if (admin_worker_stuck(view, worker)) /* whatever it said when it last could */
        return false;
    if (lane_state_ready(c->state))
        return true;
    /* One that needs an operator, or ends, is not about to be back. */
    if (c->state != LANE_CONNECTING && c->state != LANE_HOLDING)
        return false;
    return c->unready_ms != LANE_NEVER_READY && c->unready_ms <= view->ready_grace_ms;
}
