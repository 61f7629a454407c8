/* /status: one JSON object, for orderctl status and for whoever builds a view of his own. Members are added, never
 * renamed. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/admin.h"
#include "orderd/check.h"
#include "orderd/clock.h"

static void set(json_t *object, const char *name, json_t *value)
{
    CHECK(value != NULL && json_object_set_new(object, name, value) == 0);
}

/* What servers say in their errors may be any bytes. */
static json_t *text_of(const char *text)
{
    struct strbuf clean = STRBUF_INIT;
    json_t *value;

    strbuf_add_utf8(&clean, slice_of(text));
    value = json_string(clean.data ? clean.data : "");
    strbuf_release(&clean);
    return value;
}

static json_t *worker_of(const struct admin_view *view, const struct admin_worker *w)
{
    json_t *object = json_object();
    int64_t unready = w->condition.unready_ms;

    set(object, "name", json_string(w->name));
    set(object, "role", json_string(admin_role_name(w->role)));
    set(object, "state", json_string(lane_state_name(w->condition.state)));
    set(object, "ready", json_boolean(admin_worker_ready(view, w)));
    set(object, "unready_ms", unready == LANE_NEVER_READY ? json_null() : json_integer(unready));
    set(object, "beat_age_ms", json_integer(w->beat_age_ms));
    set(object, "why", text_of(w->condition.why));
    set(object, "state_ms", json_integer(w->condition.state_ms));
    set(object, "in_hand", json_integer(w->condition.in_hand));
    set(object, "last_error", w->condition.last[0] ? text_of(w->condition.last) : json_null());
    set(object, "last_error_ms", w->condition.last[0] ? json_integer(w->condition.last_ms) : json_null());
    return object;
}

static json_t *workers_of(const struct admin_view *view)
{
    json_t *list = json_array();

    for (size_t i = 0; i < view->worker_count; i++)
        CHECK(json_array_append_new(list, worker_of(view, &view->workers[i])) == 0);
    return list;
}

static json_t *rates_of(const struct admin_rates *r)
{
    json_t *object = json_object();

    set(object, "received", json_integer(r->received));
    set(object, "created", json_integer(r->created));
    set(object, "paid", json_integer(r->paid));
    set(object, "closed", json_integer(r->closed));
    set(object, "dead_lettered", json_integer(r->dead_lettered));
    set(object, "p50_us", json_integer(r->p50_us));
    set(object, "p99_us", json_integer(r->p99_us));
    set(object, "release_lag_p99_ms", json_integer(r->release_lag_p99_ms));
    return object;
}

static json_t *totals_of(const struct metric_sum *sum)
{
    json_t *object = json_object();

    for (int i = 0; i < METRIC_COUNT; i++)
        set(object, metric_name((enum metric)i), json_integer((json_int_t)sum->counters[i]));
    return object;
}

unsigned admin_status(const struct admin_view *view, const struct admin_request *request, struct strbuf *out)
{
    const char *stuck = admin_stuck(view);
    json_t *object = json_object();
    char host[256] = "", *text;

    (void)request;
    (void)gethostname(host, sizeof host - 1);
    set(object, "version", json_string(ORDERD_VERSION));
    set(object, "instance", json_string(view->instance));
    set(object, "host", text_of(host));
    set(object, "pid", json_integer(view->pid));
    set(object, "pid_ticks", json_integer(view->pid_ticks));
    set(object, "started_at", json_integer(view->started_at));
    set(object, "uptime_ms", json_integer(clock_wall_ms() - view->started_at));
    set(object, "phase", json_string(admin_phase_name(view->phase)));
    set(object, "why", text_of(view->why));
    set(object, "quiet", json_boolean(view->quiet));
    set(object, "in_hand", json_integer(admin_in_hand(view)));
    set(object, "configured_at", json_integer(view->configured_at));
    set(object, "reload_refused", view->refused[0] ? text_of(view->refused) : json_null());
    set(object, "live", json_boolean(stuck == NULL));
    set(object, "stuck", stuck ? json_string(stuck) : json_null());
    set(object, "ready", json_boolean(admin_view_ready(view)));
    set(object, "relay_oldest_ms", json_integer(view->relay_oldest_ms));
    set(object, "rates", rates_of(&view->rates));
    set(object, "workers", workers_of(view));
    set(object, "totals", totals_of(&view->sum));
    text = json_dumps(object, JSON_COMPACT);
    CHECK(text != NULL);
    strbuf_add_str(out, text);
    strbuf_add_char(out, '\n');
    free(text);
    json_decref(object);
    return 200;
}
