/* What the process is told while it runs: read the configuration again, take nothing, go on, say what you do. */
#include "daemon.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/notify.h"

/* ---- the configuration ---- */

static void refuse_reload(struct daemon *d, const struct error *err)
{
    log_event(LOG_EVENT_RELOAD_REFUSED, LOG_ERR(err));
    view_lock(d);
    snprintf(d->refused, sizeof d->refused, "%s", err->text);
    view_unlock(d);
}

static void take_configuration(struct daemon *d, const struct conf *current, struct conf *fresh)
{
    struct strbuf taken = STRBUF_INIT, later = STRBUF_INIT;

    conf_merge_reload(current, fresh, &taken, &later);
    d->confs[d->conf_count++] = fresh;
    log_configure(fresh);
    atomic_store_explicit(&d->shared.conf, fresh, memory_order_release);
    log_event(LOG_EVENT_RELOADED, LOG_SLICE("taken", ((struct slice){taken.data, taken.len})),
              LOG_SLICE("need_restart", ((struct slice){later.data, later.len})));
    view_lock(d);
    d->configured_at = clock_wall_ms();
    d->refused[0] = '\0';
    view_unlock(d);
    strbuf_release(&taken);
    strbuf_release(&later);
}

/* An editor or a copy that has just begun to write leaves a file that says nothing, which is no error: all would go
 * back to its default. */
static struct conf *load_again(const char *path, struct error *err)
{
    struct stat st;

    if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0) {
        error_set(err, ERROR_REFUSED, "%s is empty: is it being written? reload again then", path);
        return NULL;
    }
    return conf_load(path, err);
}

static void reload(struct daemon *d)
{
    const struct conf *current = atomic_load_explicit(&d->shared.conf, memory_order_acquire);
    struct error err = {0};
    struct conf *fresh;

    if (d->was_ready)
        notify_reloading();
    fresh = d->conf_count < DAEMON_CONFS_MAX ? load_again(current->path, &err) : NULL;
    if (fresh)
        take_configuration(d, current, fresh);
    else if (err.code == ERROR_NONE)
        error_set(&err, ERROR_REFUSED, "reloaded %d times since the start; restart to reload again", DAEMON_CONFS_MAX);
    if (err.code != ERROR_NONE)
        refuse_reload(d, &err);
    if (d->was_ready)
        notify_ready();
    report_status(d);
}

/* ---- the quiet mode ---- */

#define QUIET_SENTENCE "told to take nothing; `orderctl resume` or SIGCONT ends it"

static bool is_quiet(const struct daemon *d)
{
    return atomic_load_explicit(&d->shared.quiet, memory_order_relaxed);
}

void control_running(struct daemon *d)
{
    bool quiet = is_quiet(d);

    view_set_phase(d, quiet ? ADMIN_QUIET : ADMIN_RUNNING, quiet ? QUIET_SENTENCE : "");
}

/* While it still starts, it will begin so. */
static void set_quiet(struct daemon *d, bool quiet)
{
    if (is_quiet(d) == quiet)
        return;
    atomic_store_explicit(&d->shared.quiet, quiet, memory_order_release);
    log_write(quiet ? LOG_EVENT_QUIET : LOG_EVENT_RESUMED, NULL);
    if (d->phase != ADMIN_STARTING) /* this thread alone writes it */
        control_running(d);
    d->rested = false;
    report_status(d);
}

/* ---- what all threads do ---- */

static void dump_thread(const struct admin_worker *w)
{
    const struct lane_condition *c = &w->condition;
    struct log_field fields[] = {
        LOG_STR("name", w->name),
        LOG_STR("role", admin_role_name(w->role)),
        LOG_STR("state", lane_state_name(c->state)),
        LOG_INT("for_ms", c->state_ms),
        LOG_INT("in_hand", c->in_hand),
        LOG_INT("beat_age_ms", w->beat_age_ms),
        LOG_STR("why", c->why),
        LOG_STR("last_error", strcmp(c->why, c->last) == 0 ? "" : c->last),
        LOG_INT("last_error_ms", c->last_ms),
        {0},
    };

    if (!c->last[0])
        fields[sizeof fields / sizeof *fields - 2] = (struct log_field){0};
    log_write(LOG_EVENT_THREAD_STATE, fields);
}

void control_dump(struct daemon *d)
{
    const struct admin_view *view = view_look(d);

    log_event(LOG_EVENT_PROCESS_STATE, LOG_STR("phase", admin_phase_name(view->phase)), LOG_STR("why", view->why),
              LOG_STR("ready", admin_view_ready(view) ? "yes" : "no"), LOG_INT("threads", view->worker_count + 1),
              LOG_INT("in_hand", admin_in_hand(view)), LOG_INT("relay_oldest_ms", view->relay_oldest_ms));
    for (size_t i = 0; i < view->worker_count; i++)
        dump_thread(&view->workers[i]);
}

void control_signal(struct daemon *d, int signal_)
{
    switch (signal_) {
    case SIGHUP:
        reload(d);
        break;
    case SIGUSR1:
    case SIGCONT:
        set_quiet(d, signal_ == SIGUSR1);
        break;
    case SIGUSR2:
        control_dump(d);
        break;
    default:
        break;
    }
}
