/* /status: one JSON object, for orderctl status and for whoever builds a view of his own. Members are added, never
 * renamed. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/admin.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/json_put.h"

static json_t *worker_of(const struct admin_view *view, const struct admin_worker *w)
{
    json_t *object = json_object();
    int64_t unready = w->condition.unready_ms;

    json_put(object, "name", json_string(w->name));
    json_put(object, "role", json_string(admin_role_name(w->role)));
    json_put(object, "state", json_string(lane_state_name(w->condition.state)));
    json_put(object, "ready", json_boolean(admin_worker_ready(view, w)));
    json_put(object, "unready_ms", unready == LANE_NEVER_READY ? json_null() : json_integer(unready));
    json_put(object, "beat_age_ms", json_integer(w->beat_age_ms));
    json_put(object, "why", json_text(w->condition.why));
    json_put(object, "state_ms", json_integer(w->condition.state_ms));
    json_put(object, "in_hand", json_integer(w->condition.in_hand));
    json_put(object, "last_error", w->condition.last[0] ? json_text(w->condition.last) : json_null());
    json_put(object, "last_error_ms", w->condition.last[0] ? json_integer(w->condition.last_ms) : json_null());
    return object;
}

static json_t *workers_of(const struct admin_view *view)
{
    json_t *list = json_array();

    for (size_t i = 0; i < view->worker_count; i++)
        json_put_last(list, worker_of(view, &view->workers[i]));
    return list;
}

static json_t *rates_of(const struct admin_rates *r)
{
    json_t *object = json_object();

    json_put(object, "received", json_integer(r->received));
    json_put(object, "created", json_integer(r->created));
    json_put(object, "paid", json_integer(r->paid));
    json_put(object, "closed", json_integer(r->closed));
    json_put(object, "dead_lettered", json_integer(r->dead_lettered));
    json_put(object, "p50_us", json_integer(r->p50_us));
    json_put(object, "p99_us", json_integer(r->p99_us));
    json_put(object, "release_lag_p99_ms", json_integer(r->release_lag_p99_ms));
    return object;
}

static json_t *totals_of(const struct metric_sum *sum)
{
    json_t *object = json_object();

    for (int i = 0; i < METRIC_COUNT; i++)
        json_put(object, metric_name((enum metric)i), json_integer((json_int_t)sum->counters[i]));
    return object;
}

unsigned admin_status(const struct admin_view *view, const struct admin_request *request, struct strbuf *out)
{
    const char *stuck = admin_stuck(view);
    json_t *object = json_object();
    char host[256] = "", *text;

    (void)request;
    (void)gethostname(host, sizeof host - 1);
    json_put(object, "version", json_string(ORDERD_VERSION));
    json_put(object, "instance", json_string(view->instance));
    json_put(object, "host", json_text(host));
    json_put(object, "pid", json_integer(view->pid));
    json_put(object, "pid_ticks", json_integer(view->pid_ticks));
    json_put(object, "started_at", json_integer(view->started_at));
    json_put(object, "uptime_ms", json_integer(clock_wall_ms() - view->started_at));
    json_put(object, "phase", json_string(admin_phase_name(view->phase)));
    json_put(object, "why", json_text(view->why));
    json_put(object, "quiet", json_boolean(view->quiet));
    json_put(object, "in_hand", json_integer(admin_in_hand(view)));
    json_put(object, "configured_at", json_integer(view->configured_at));
    json_put(object, "reload_refused", view->refused[0] ? json_text(view->refused) : json_null());
    json_put(object, "live", json_boolean(stuck == NULL));
    json_put(object, "stuck", stuck ? json_string(stuck) : json_null());
    json_put(object, "ready", json_boolean(admin_view_ready(view)));
    json_put(object, "relay_oldest_ms", json_integer(view->relay_oldest_ms));
    json_put(object, "rates", rates_of(&view->rates));
    json_put(object, "workers", workers_of(view));
    json_put(object, "totals", totals_of(&view->sum));
    text = json_dumps(object, JSON_COMPACT);
    CHECK(text != NULL);
    strbuf_add_str(out, text);
    strbuf_add_char(out, '\n');
    free(text);
    json_decref(object);
    return 200;
}
