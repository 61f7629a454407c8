/* /livez and /readyz. Machines look at the status only; the text is for people.
 *
 * livez asks nobody else: it is red only where a restart would help. readyz is red when a lane or the relay cannot do
 * its job, at once where it is stuck or an operator must act, after admin.ready_grace where a server is away, so that a
 * reconnect is no alarm. */
#include "orderd/admin.h"

unsigned admin_livez(const struct admin_view *view, const struct admin_request *request, struct strbuf *out)
{
    const char *stuck = admin_stuck(view);

    (void)request;
    if (!stuck) {
        strbuf_add_str(out, "ok\n");
        return 200;
    }
    strbuf_addf(out, "the thread %s has not gone round for more than %d s\n", stuck, (int)(view->beat_limit_ms / 1000));
    return 503;
}

/* "[-] create.0 lane holding: Can't connect ..." */
static void add_line(struct strbuf *out, const struct admin_view *view, const struct admin_worker *w)
{
    const struct lane_condition *c = &w->condition;

    strbuf_addf(out, "[%c] %s %s %s", admin_worker_ready(view, w) ? '+' : '-', w->name, admin_role_name(w->role),
                lane_state_name(c->state));
    if (c->unready_ms != 0 && c->unready_ms != LANE_NEVER_READY)
        strbuf_addf(out, " for %d.%d s", (int)(c->unready_ms / 1000), (int)(c->unready_ms % 1000 / 100));
    if (c->why[0])
        strbuf_addf(out, ": %s", c->why);
    if (admin_worker_stuck(view, w))
        strbuf_addf(out, ", stuck for %d s", (int)(w->beat_age_ms / 1000));
    if (!admin_role_decides(w->role) && !admin_worker_ready(view, w))
        strbuf_add_str(out, " (lanes do their job without it)");
    strbuf_add_char(out, '\n');
}

static void add_verdict(struct strbuf *out, const struct admin_view *view, bool ready)
{
    if (ready)
        strbuf_add_str(out, "ready\n");
    else if (view->phase == ADMIN_RUNNING)
        strbuf_add_str(out, "not ready\n");
    else
        strbuf_addf(out, "not ready: %s%s%s\n", admin_phase_name(view->phase), view->why[0] ? ": " : "", view->why);
}

/* Without verbose only what is not ready is shown. */
unsigned admin_readyz(const struct admin_view *view, const struct admin_request *request, struct strbuf *out)
{
    bool ready = admin_view_ready(view);

    for (size_t i = 0; i < view->worker_count; i++) {
        const struct admin_worker *w = &view->workers[i];

        if (request->verbose || (admin_role_decides(w->role) && !admin_worker_ready(view, w)))
            add_line(out, view, w);
    }
    add_verdict(out, view, ready);
    return ready ? 200 : 503;
}
