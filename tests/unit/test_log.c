/* log: lines in both formats, prefix, levels, rates, threads. */
#include "testing.h"

#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orderd/log.h"
#include "orderd/thread.h"

static int saved = -1, captured = -1;

/* From here on standard error goes to a file of its own. */
static void capture(void)
{
    char path[] = "/tmp/orderd_log_XXXXXX";

    captured = mkstemp(path);
    ck_assert_int_ge(captured, 0);
    unlink(path);
    saved = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(captured, STDERR_FILENO), 0);
}

static void release(void)
{
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(captured);
}

/* What was written since the last call; the caller frees. */
static char *written(void)
{
    off_t size = lseek(captured, 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);

    ck_assert_int_eq(pread(captured, text, (size_t)size, 0), size);
    ck_assert_int_eq(ftruncate(captured, 0), 0);
    lseek(captured, 0, SEEK_SET);
    return text;
}

static void configure(int level, int format, int prefix)
{
    struct conf conf = {.log_level = level, .log_format = format, .log_priority_prefix = prefix};

    log_configure(&conf);
}

/* Compares without the time, which must look like one. */
static void assert_line(const char *prefix, const char *rest)
{
    char *text = written();
    size_t len = strlen(prefix);

    ck_assert_msg(strncmp(text, prefix, len) == 0, "no \"%s\" before: %s", prefix, text);
    ck_assert_msg(strlen(text) > len + 24 && text[len + 10] == 'T' && text[len + 19] == '.' && text[len + 23] == 'Z',
                  "no time in: %s", text);
    ck_assert_str_eq(text + len + 24, rest);
    free(text);
}

static const struct error example = {.code = ERROR_DB_AWAY, .text = "cannot connect to \"db\""};

START_TEST(logfmt)
{
    log_set_identity("orderd", "1");
    log_event(LOG_EVENT_DB_DOWN, LOG_STR("host", "db.example"), LOG_INT("wait_ms", -5), LOG_STR("text", "a b=\"c\"\n"),
              LOG_SLICE("cut", ((struct slice){"abcdef", 3})), LOG_STR("none", NULL), LOG_ERR(&example));
    assert_line("ts=", " level=warning event=db_down program=orderd instance=1 thread=main host=db.example wait_ms=-5 "
                       "text=\"a b=\\\"c\\\"\\n\" cut=abc reason=db_away error=\"cannot connect to "
                       "\\\"db\\\"\" msg=\"database is away; the work in hand waits, no order is harmed\"\n");
}
END_TEST

START_TEST(no_fields_no_instance)
{
    log_set_identity("orderctl", "");
    log_set_thread("create.0");
    log_write(LOG_EVENT_READY, NULL);
    assert_line("ts=", " level=info event=ready program=orderctl thread=create.0 msg=\"all lanes consume\"\n");
}
END_TEST

static const char *member(json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));

    ck_assert_msg(text != NULL, "no text member %s", name);
    return text;
}

START_TEST(json)
{
    char *text;
    json_t *line;

    configure(CONF_LOG_LEVEL_INFO, CONF_LOG_FORMAT_JSON, CONF_PRIORITY_ALWAYS);
    log_set_identity("orderd", "7");
    log_event(LOG_EVENT_DB_DOWN, LOG_STR("host", "quote \" and \xff"), LOG_INT("big", INT64_MIN), LOG_ERR(&example));
    text = written();
    ck_assert(strncmp(text, "<4>{", 4) == 0);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    line = json_loads(text + 3, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(line != NULL, "not JSON: %s", text);
    ck_assert_uint_eq(strlen(member(line, "ts")), 24);
    ck_assert_str_eq(member(line, "level"), "warning");
    ck_assert_str_eq(member(line, "event"), "db_down");
    ck_assert_str_eq(member(line, "program"), "orderd");
    ck_assert_str_eq(member(line, "instance"), "7");
    ck_assert_str_eq(member(line, "thread"), "main");
    ck_assert_str_eq(member(line, "host"), "quote \" and \xef\xbf\xbd");
    ck_assert_str_eq(member(line, "reason"), "db_away");
    ck_assert_str_eq(member(line, "error"), example.text);
    ck_assert_str_eq(member(line, "msg"), "database is away; the work in hand waits, no order is harmed");
    ck_assert(json_is_integer(json_object_get(line, "big")));
    ck_assert_int_eq(json_integer_value(json_object_get(line, "big")), INT64_MIN);
    ck_assert_uint_eq(json_object_size(line), 11);
    json_decref(line);
    free(text);
}
END_TEST

static const struct {
    enum log_event event;
    const char *prefix;
} priorities[] = {
    {LOG_EVENT_LANE_PAUSED, "<3>ts="},
    {LOG_EVENT_DB_DOWN, "<4>ts="},
    {LOG_EVENT_READY, "<6>ts="},
    {LOG_EVENT_ORDER_CREATED, "<7>ts="},
};

START_TEST(priority)
{
    char *text;

    configure(CONF_LOG_LEVEL_DEBUG, CONF_LOG_FORMAT_LOGFMT, CONF_PRIORITY_ALWAYS);
    log_write(priorities[_i].event, NULL);
    text = written();
    ck_assert_msg(strncmp(text, priorities[_i].prefix, strlen(priorities[_i].prefix)) == 0, "%s", text);
    free(text);
}
END_TEST

/* auto: only where standard error itself is what the variable names. */
static const struct {
    int device_off, inode_off;
    int when;
    bool prefixed;
} journals[] = {
    {0, 0, CONF_PRIORITY_AUTO, true},   {0, 1, CONF_PRIORITY_AUTO, false},  {1, 0, CONF_PRIORITY_AUTO, false},
    {0, 0, CONF_PRIORITY_NEVER, false}, {1, 1, CONF_PRIORITY_ALWAYS, true},
};

START_TEST(journal)
{
    char stream[64], *text;
    struct stat st;

    ck_assert_int_eq(fstat(captured, &st), 0);
    snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev + (unsigned)journals[_i].device_off,
             (unsigned long long)st.st_ino + (unsigned)journals[_i].inode_off);
    setenv("JOURNAL_STREAM", stream, 1);
    configure(CONF_LOG_LEVEL_INFO, CONF_LOG_FORMAT_LOGFMT, journals[_i].when);
    log_write(LOG_EVENT_READY, NULL);
    text = written();
    ck_assert_msg((text[0] == '<') == journals[_i].prefixed, "%s", text);
    free(text);
}
END_TEST

static size_t lines_in(const char *text)
{
    size_t n = 0;

    for (; (text = strchr(text, '\n')) != NULL; text++)
        n++;
    return n;
}

START_TEST(levels)
{
    static const size_t expected[] = {[CONF_LOG_LEVEL_ERROR] = 1,
                                      [CONF_LOG_LEVEL_WARNING] = 2,
                                      [CONF_LOG_LEVEL_INFO] = 3,
                                      [CONF_LOG_LEVEL_DEBUG] = 4};
    char *text;

    configure(_i, CONF_LOG_FORMAT_LOGFMT, CONF_PRIORITY_NEVER);
    for (size_t i = 0; i < sizeof priorities / sizeof *priorities; i++)
        log_write(priorities[i].event, NULL);
    text = written();
    ck_assert_uint_eq(lines_in(text), expected[_i]);
    ck_assert_int_eq(log_wanted(LOG_EVENT_ORDER_CREATED), _i == CONF_LOG_LEVEL_DEBUG);
    ck_assert_uint_eq(log_count(LOG_EVENT_ORDER_CREATED), _i == CONF_LOG_LEVEL_DEBUG);
    free(text);
}
END_TEST

/* Sum of the suppressed=N of all lines. */
static size_t suppressed_in(const char *text)
{
    size_t n = 0;

    while ((text = strstr(text, "suppressed=")) != NULL) {
        text += strlen("suppressed=");
        n += strtoul(text, NULL, 10);
    }
    return n;
}

static void next_second(void)
{
    int64_t second = testing_now_ms() / 1000;

    testing_wait(testing_now_ms() / 1000 > second, 2000, "a second to pass");
}

/* NOT_READY is 1 per second; each test process starts with a clean count. */
START_TEST(rate)
{
    char *text;

    next_second();
    for (int i = 0; i < 30; i++)
        log_event(LOG_EVENT_NOT_READY, LOG_INT("n", i));
    next_second();
    log_event(LOG_EVENT_NOT_READY, LOG_INT("n", 30));
    next_second();
    log_event(LOG_EVENT_NOT_READY, LOG_INT("n", 31));
    text = written();
    ck_assert_msg(lines_in(text) == 3, "%s", text);
    ck_assert_msg(strstr(text, "n=0 msg=") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "n=30 suppressed=29 msg=") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "n=31 msg=") != NULL, "%s", text);
    ck_assert_uint_eq(log_count(LOG_EVENT_NOT_READY), 32);
    free(text);
}
END_TEST

/* LANE_HOLDING is 1 in 5 seconds: an outage does not fill the journal. */
START_TEST(slow_rate)
{
    int64_t window = testing_now_ms() / 5000;
    char *text;

    testing_wait(testing_now_ms() / 5000 > window, 6000, "a window to begin");
    for (int i = 0; i < 3; i++) {
        log_event(LOG_EVENT_LANE_HOLDING, LOG_INT("n", i));
        next_second();
    }
    window = testing_now_ms() / 5000;
    testing_wait(testing_now_ms() / 5000 > window, 6000, "the window to end");
    log_event(LOG_EVENT_LANE_HOLDING, LOG_INT("n", 3));
    text = written();
    ck_assert_msg(lines_in(text) == 2, "%s", text);
    ck_assert_msg(strstr(text, "n=0 msg=") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "n=3 suppressed=2 msg=") != NULL, "%s", text);
    free(text);
}
END_TEST

START_TEST(unlimited)
{
    char *text;

    for (int i = 0; i < 1000; i++)
        log_write(LOG_EVENT_READY, NULL);
    text = written();
    ck_assert_uint_eq(lines_in(text), 1000);
    ck_assert_uint_eq(suppressed_in(text), 0);
    free(text);
}
END_TEST

START_TEST(long_text_is_cut)
{
    static char big[100000];
    char *text;

    memset(big, 'x', sizeof big - 1);
    log_event(LOG_EVENT_READY, LOG_STR("body", big), LOG_INT("after", 1));
    text = written();
    ck_assert_uint_lt(strlen(text), LOG_TEXT_MAX + 300);
    ck_assert_ptr_nonnull(strstr(text, "x after=1 msg="));
    free(text);
}
END_TEST

#define THREADS   8
#define PER_ROUND 500

static int pipe_ends[2];

static void write_many(void *data)
{
    const char *filler = data;

    for (int i = 0; i < PER_ROUND; i++) {
        log_event(LOG_EVENT_READY, LOG_INT("i", i), LOG_STR("a", filler), LOG_STR("b", filler), LOG_STR("c", filler),
                  LOG_STR("d", filler), LOG_STR("e", filler));
        log_event(LOG_EVENT_DB_UP, LOG_INT("i", i));
    }
}

/* Takes everything apart that arrives: each line alone must be JSON. */
static void *read_lines(void *data)
{
    size_t *sums = data; /* lines of READY, lines of DB_UP, suppressed */
    FILE *f = fdopen(pipe_ends[0], "r");
    char *text = NULL;
    size_t cap = 0;

    while (getline(&text, &cap, f) > 0) {
        json_t *line = json_loads(text, 0, NULL);

        if (line == NULL)
            return text; /* not whole */
        sums[strcmp(json_string_value(json_object_get(line, "event")), "ready") == 0 ? 0 : 1]++;
        sums[2] += (size_t)json_integer_value(json_object_get(line, "suppressed"));
        json_decref(line);
    }
    free(text);
    fclose(f);
    return NULL;
}

/* Through a pipe, with lines longer than the 4 KiB that a pipe keeps together by itself. */
START_TEST(threads_do_not_mix_lines)
{
    static char filler[LOG_TEXT_MAX + 1];
    struct thread threads[THREADS] = {0};
    size_t sums[3] = {0};
    pthread_t reader;
    void *broken;

    memset(filler, 'y', LOG_TEXT_MAX);
    configure(CONF_LOG_LEVEL_INFO, CONF_LOG_FORMAT_JSON, CONF_PRIORITY_NEVER);
    ck_assert_int_eq(pipe(pipe_ends), 0);
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[1]);
    ck_assert_int_eq(pthread_create(&reader, NULL, read_lines, sums), 0);
    for (int i = 0; i < THREADS; i++) {
        snprintf(threads[i].name, sizeof threads[i].name, "writer.%d", i);
        threads[i].run = write_many;
        threads[i].data = filler;
        thread_start(&threads[i]);
    }
    for (int i = 0; i < THREADS; i++)
        thread_join(&threads[i]);
    next_second();
    log_write(LOG_EVENT_DB_UP, NULL); /* carries what is still counted */
    dup2(captured, STDERR_FILENO);    /* the last writing end closes */
    ck_assert_int_eq(pthread_join(reader, &broken), 0);
    ck_assert_msg(broken == NULL, "not a whole line: %s", (char *)broken);
    ck_assert_uint_eq(sums[0], THREADS * PER_ROUND);
    ck_assert_uint_eq(sums[1] + sums[2], THREADS * PER_ROUND + 1);
    ck_assert_uint_gt(sums[2], 0);
    ck_assert_uint_eq(log_count(LOG_EVENT_DB_UP), THREADS * PER_ROUND + 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("log");
    TCase *c = tcase_create("log");

    tcase_add_checked_fixture(c, capture, release);
    tcase_set_timeout(c, 30);
    tcase_add_test(c, logfmt);
    tcase_add_test(c, no_fields_no_instance);
    tcase_add_test(c, json);
    tcase_add_loop_test(c, priority, 0, sizeof priorities / sizeof *priorities);
    tcase_add_loop_test(c, journal, 0, sizeof journals / sizeof *journals);
    tcase_add_loop_test(c, levels, CONF_LOG_LEVEL_ERROR, CONF_LOG_LEVEL_DEBUG + 1);
    tcase_add_test(c, rate);
    tcase_add_test(c, slow_rate);
    tcase_add_test(c, unlimited);
    tcase_add_test(c, long_text_is_cut);
    tcase_add_test(c, threads_do_not_mix_lines);
    suite_add_tcase(s, c);
    return testing_main(s);
}
