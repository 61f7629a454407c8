#include "orderd/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log_line.h"
#include "orderd/check.h"
#include "orderd/clock.h"

static const struct {
    int level; /* CONF_LOG_LEVEL_ */
    int per_second;
    const char *name, *sentence;
} events[] = {
#define X(event, level, per_second, name, sentence) {CONF_LOG_LEVEL_##level, per_second, name, sentence},
#include "orderd/tbl/log_event.h"
#undef X
};

static const struct {
    const char *name;
    int priority; /* sd-daemon(3) */
} levels[] = {
    [CONF_LOG_LEVEL_ERROR] = {"error", 3},
    [CONF_LOG_LEVEL_WARNING] = {"warning", 4},
    [CONF_LOG_LEVEL_INFO] = {"info", 6},
    [CONF_LOG_LEVEL_DEBUG] = {"debug", 7},
};

static struct {
    atomic_int level, format, priority_prefix;
} settings = {CONF_LOG_LEVEL_INFO, CONF_LOG_FORMAT_LOGFMT, CONF_PRIORITY_AUTO};

static struct {
    const char *program, *instance; /* before other threads start */
} identity = {"orderd", ""};

static _Thread_local const char *thread_name = "main";

static struct {
    pthread_mutex_t lock; /* guards the rest, and makes lines of any length whole: a pipe keeps only 4 KiB together */
    struct {
        int64_t window;
        int written; /* in that window */
        uint64_t suppressed;
    } rates[LOG_EVENT_COUNT];
} out = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic uint64_t counts[LOG_EVENT_COUNT];

static pthread_once_t journal_once = PTHREAD_ONCE_INIT;
static bool is_journal;

/* $JOURNAL_STREAM is inherited by children whose standard error was redirected: only the same file counts. */
static void look_for_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;

    is_journal = stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
                 st.st_dev == (dev_t)device && st.st_ino == (ino_t)inode;
}

static bool wants_prefix(void)
{
    int when = atomic_load_explicit(&settings.priority_prefix, memory_order_relaxed);

    if (when != CONF_PRIORITY_AUTO)
        return when == CONF_PRIORITY_ALWAYS;
    CHECK_ZERO(pthread_once(&journal_once, look_for_journal));
    return is_journal;
}

/* With the lock: whether the event may have a line now, and if so how many it could not have before. */
static bool pass_rate(enum log_event event, uint64_t *suppressed)
{
    int limit = events[event].per_second, seconds = limit < 0 ? -limit : 1, lines = limit < 0 ? 1 : limit;
    int64_t window = clock_mono_ms() / (1000 * seconds);

    if (limit == 0)
        return true;
    if (out.rates[event].window != window) {
        out.rates[event].window = window;
        out.rates[event].written = 0;
    }
    if (out.rates[event].written == lines) {
        out.rates[event].suppressed++;
        return false;
    }
    out.rates[event].written++;
    *suppressed = out.rates[event].suppressed;
    out.rates[event].suppressed = 0;
    return true;
}

static void write_whole(struct slice text)
{
    while (text.len) {
        ssize_t n = write(STDERR_FILENO, text.ptr, text.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* nobody listens; there is no better place to say so */
        text = (struct slice){text.ptr + n, text.len - (size_t)n};
    }
}

static void write_line(enum log_event event, const struct log_field *fields, uint64_t suppressed)
{
    const struct log_line line = {.wall_ms = clock_wall_ms(),
                                  .level = levels[events[event].level].name,
                                  .event = events[event].name,
                                  .program = identity.program,
                                  .instance = identity.instance,
                                  .thread = thread_name,
                                  .sentence = events[event].sentence,
                                  .fields = fields,
                                  .suppressed = suppressed};
    struct strbuf text = STRBUF_INIT;

    if (wants_prefix())
        strbuf_addf(&text, "<%d>", levels[events[event].level].priority);
    if (atomic_load_explicit(&settings.format, memory_order_relaxed) == CONF_LOG_FORMAT_JSON)
        log_line_json(&line, &text);
    else
        log_line_logfmt(&line, &text);
    write_whole((struct slice){text.data, text.len});
    strbuf_release(&text);
}

void log_write(enum log_event event, const struct log_field *fields)
{
    uint64_t suppressed = 0;

    CHECK((size_t)event < LOG_EVENT_COUNT);
    if (!log_wanted(event))
        return;
    atomic_fetch_add_explicit(&counts[event], 1, memory_order_relaxed);
    CHECK_ZERO(pthread_mutex_lock(&out.lock));
    if (pass_rate(event, &suppressed))
        write_line(event, fields, suppressed);
    CHECK_ZERO(pthread_mutex_unlock(&out.lock));
}

bool log_wanted(enum log_event event)
{
    return events[event].level <= atomic_load_explicit(&settings.level, memory_order_relaxed);
}

void log_errors_only(void)
{
    atomic_store_explicit(&settings.level, CONF_LOG_LEVEL_ERROR, memory_order_relaxed);
}

void log_configure(const struct conf *conf)
{
    atomic_store_explicit(&settings.level, conf->log_level, memory_order_relaxed);
    atomic_store_explicit(&settings.format, conf->log_format, memory_order_relaxed);
    atomic_store_explicit(&settings.priority_prefix, conf->log_priority_prefix, memory_order_relaxed);
}

void log_set_identity(const char *program, const char *instance)
{
    identity.program = program;
    identity.instance = instance;
}

void log_set_thread(const char *name)
{
    thread_name = name;
}

uint64_t log_count(enum log_event event)
{
    return atomic_load_explicit(&counts[event], memory_order_relaxed);
}
