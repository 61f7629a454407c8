/* /metrics, in the text format of Prometheus, version 0.0.4. Names and units by its conventions; every series is there
 * from the first scrape on, at 0.
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/ */
#include "metrics.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "orderd/log.h"

/* Powers of two in microseconds, since those are exact in the counters: 0.5 ms to 36 minutes. */
#define BUCKET_FIRST 9
#define BUCKET_LAST  31

void metrics_head(struct strbuf *out, const char *name, const char *type, const char *help)
{
    strbuf_addf(out, "# HELP %s ", name);
    for (; *help; help++) {
        if (*help == '\\' || *help == '\n')
            strbuf_add_char(out, '\\');
        strbuf_add_char(out, *help == '\n' ? 'n' : *help);
    }
    strbuf_addf(out, "\n# TYPE %s %s\n", name, type);
}

static void add_gauge(struct strbuf *out, const char *name, const char *help, int64_t value)
{
    metrics_head(out, name, "gauge", help);
    strbuf_addf(out, "%s %" PRId64 "\n", name, value);
}

static void add_seconds(struct strbuf *out, const char *name, const char *type, const char *help, int64_t ms)
{
    metrics_head(out, name, type, help);
    strbuf_addf(out, "%s %" PRId64 ".%03d\n", name, ms / 1000, (int)(ms % 1000));
}

/* ---- what the lanes count ---- */

/* Those that count milliseconds are shown in the base unit. */
static void add_counter(struct strbuf *out, enum metric metric, uint64_t value)
{
    static const char suffix[] = "_milliseconds_total";
    const char *own = metric_name(metric);
    size_t len = strlen(own);
    char name[128];

    if (len > sizeof suffix && strcmp(own + len - (sizeof suffix - 1), suffix) == 0) {
        snprintf(name, sizeof name, PREFIX "%.*s_seconds_total", (int)(len - (sizeof suffix - 1)), own);
        add_seconds(out, name, "counter", metric_help(metric), (int64_t)value);
        return;
    }
    snprintf(name, sizeof name, PREFIX "%s", own);
    metrics_head(out, name, "counter", metric_help(metric));
    strbuf_addf(out, "%s %" PRIu64 "\n", name, value);
}

static void add_histogram(struct strbuf *out, const struct metric_sum *sum, enum metric_span span)
{
    uint64_t total = 0;
    char name[128];

    for (size_t i = 0; i < METRIC_BUCKETS; i++)
        total += sum->spans[span][i];
    snprintf(name, sizeof name, PREFIX "%s_seconds", metric_span_name(span));
    metrics_head(out, name, "histogram", metric_span_help(span));
    for (unsigned power = BUCKET_FIRST; power <= BUCKET_LAST; power++)
        strbuf_addf(out, "%s_bucket{le=\"%.6f\"} %" PRIu64 "\n", name, (double)(UINT64_C(1) << power) / 1e6,
                    metric_below(sum, span, power));
    strbuf_addf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, total);
    strbuf_addf(out, "%s_sum %" PRIu64 ".%06d\n", name, sum->span_us[span] / 1000000,
                (int)(sum->span_us[span] % 1000000));
    strbuf_addf(out, "%s_count %" PRIu64 "\n", name, total);
}

static void add_log_lines(struct strbuf *out)
{
    static const struct {
        int level;
        enum log_event event;
    } events[] = {
#define X(event, level, per_second, name, sentence) {CONF_LOG_LEVEL_##level, LOG_EVENT_##event},
#include "orderd/tbl/log_event.h"
#undef X
    };
    static const char *const levels[] = {
        [CONF_LOG_LEVEL_ERROR] = "error",
        [CONF_LOG_LEVEL_WARNING] = "warning",
        [CONF_LOG_LEVEL_INFO] = "info",
        [CONF_LOG_LEVEL_DEBUG] = "debug",
    };
    uint64_t counts[sizeof levels / sizeof *levels] = {0};

    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        counts[events[i].level] += log_count(events[i].event);
    metrics_head(out, PREFIX "log_lines_total", "counter",
                 "Log lines, those that were left out by their rate included.");
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        strbuf_addf(out, PREFIX "log_lines_total{level=\"%s\"} %" PRIu64 "\n", levels[i], counts[i]);
}

/* ---- who is there ---- */

static void add_states(struct strbuf *out, const struct admin_view *view)
{
    metrics_head(out, PREFIX "worker_state", "gauge",
                 "1 for what a lane, a keeper or the relay is doing, 0 for what it is not.");
    for (size_t i = 0; i < view->worker_count; i++) {
        const struct admin_worker *w = &view->workers[i];

        for (int state = 0; state < LANE_STATE_COUNT; state++)
            strbuf_addf(out, PREFIX "worker_state{worker=\"%s\",role=\"%s\",state=\"%s\"} %d\n", w->name,
                        admin_role_name(w->role), lane_state_name((enum lane_state)state),
                        (int)w->condition.state == state);
    }
}

static void add_phase(struct strbuf *out, const struct admin_view *view)
{
    metrics_head(out, PREFIX "phase", "gauge", "1 for what the process as a whole is doing, 0 for what it is not.");
    for (int phase = 0; phase < ADMIN_PHASE_COUNT; phase++)
        strbuf_addf(out, PREFIX "phase{phase=\"%s\"} %d\n", admin_phase_name((enum admin_phase)phase),
                    (int)view->phase == phase);
}

static void add_lanes(struct strbuf *out, const struct admin_view *view)
{
    int64_t lanes = 0, ready = 0;

    for (size_t i = 0; i < view->worker_count; i++) {
        if (view->workers[i].role != ADMIN_LANE)
            continue;
        lanes++;
        ready += lane_state_ready(view->workers[i].condition.state);
    }
    add_gauge(out, PREFIX "ready", "1 while /readyz says 200.", admin_view_ready(view));
    add_gauge(out, PREFIX "lanes", "Lanes of this process.", lanes);
    add_gauge(out, PREFIX "lanes_ready", "Lanes that can do their job now.", ready);
    add_gauge(out, PREFIX "in_hand", "Messages taken from the broker and not finished.", admin_in_hand(view));
}

static void add_config(struct strbuf *out, const struct admin_view *view)
{
    add_gauge(out, PREFIX "config_last_reload_successful", "0 after a reload that was refused.", !view->refused[0]);
    add_seconds(out, PREFIX "config_last_reload_success_timestamp_seconds", "gauge",
                "When the configuration in force was read, since 1970.", view->configured_at);
}

static void add_build(struct strbuf *out, const struct admin_view *view)
{
    metrics_head(out, PREFIX "build_info", "gauge", "Always 1; the labels say what runs, and as which replica.");
    strbuf_addf(out, PREFIX "build_info{version=\"%s\",replica=\"%s\"} 1\n", ORDERD_VERSION, view->instance);
}

/* ---- the process ---- */

static int64_t cpu_ms(void)
{
    struct rusage r;

    if (getrusage(RUSAGE_SELF, &r) != 0)
        return 0;
    return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000 + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1000;
}

static void read_memory(int64_t *size, int64_t *resident)
{
    FILE *f = fopen("/proc/self/statm", "re");
    int64_t page = sysconf(_SC_PAGESIZE);

    *size = *resident = 0;
    if (!f)
        return;
    if (fscanf(f, "%" SCNd64 " %" SCNd64, size, resident) != 2)
        *size = *resident = 0;
    fclose(f);
    *size *= page;
    *resident *= page;
}

static int64_t open_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int64_t count = 0;

    if (!dir)
        return 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 3; /* ".", ".." and the folder itself */
}

static void add_process(struct strbuf *out, const struct admin_view *view)
{
    struct rlimit files = {0};
    int64_t size, resident;

    read_memory(&size, &resident);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    add_seconds(out, "process_cpu_seconds_total", "counter", "User and system CPU time spent.", cpu_ms());
    add_gauge(out, "process_resident_memory_bytes", "Resident memory.", resident);
    add_gauge(out, "process_virtual_memory_bytes", "Virtual memory.", size);
    add_gauge(out, "process_open_fds", "Open file descriptors.", open_fds());
    add_gauge(out, "process_max_fds", "Most file descriptors it may have open.", (int64_t)files.rlim_cur);
    add_seconds(out, "process_start_time_seconds", "gauge", "When it started, since 1970.", view->started_at);
}

unsigned admin_metrics(const struct admin_view *view, const struct admin_request *request, struct strbuf *out)
{
    (void)request;
    for (int metric = 0; metric < METRIC_COUNT; metric++)
        add_counter(out, (enum metric)metric, view->sum.counters[metric]);
    for (int span = 0; span < METRIC_SPAN_COUNT; span++)
        add_histogram(out, &view->sum, (enum metric_span)span);
    add_log_lines(out);
    add_phase(out, view);
    add_lanes(out, view);
    add_states(out, view);
    add_seconds(out, PREFIX "relay_oldest_due_seconds", "gauge",
                "For how long the oldest pending local message has been due.", view->relay_oldest_ms);
    add_config(out, view);
    metrics_sale(out, view);
    add_build(out, view);
    add_process(out, view);
    return 200;
}
