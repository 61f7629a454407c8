#include "testing_letters.h"

#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "orderd/fault.h"
#include "orderd/topology.h"
#include "testing_lane.h"

static void bind_spy(const char *queue, const char *exchange, const char *routing_key)
{
    struct error err = {0};
    struct broker *b = testing_broker("test spy", &err);

    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_bind_queue(b, queue, exchange, routing_key, &err), &err);
    broker_close(&b, true);
}

static void declare_spy(const char *queue)
{
    struct broker_argument arguments[] = {{"x-expires", NULL, 60000}};
    enum broker_presence presence;
    struct error err = {0}, detail = {0};
    struct broker *b = testing_broker("test spy", &err);

    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_declare_queue(b, queue, arguments, 1, true, &presence, &detail, &err), &err);
    ck_assert_int_eq(presence, BROKER_PRESENT);
    broker_close(&b, true);
}

static struct broker *consume(const char *queue)
{
    struct error err = {0};
    struct broker *b = testing_broker("test spy", &err);

    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_consume(b, queue, TESTING_LETTERS_MAX, "test", &err), &err);
    return b;
}

void testing_spy_open(struct testing_spy *spy, const char *exchange, const char *routing_key)
{
    snprintf(spy->queue, sizeof spy->queue, "%s", testing_name("test.spy"));
    declare_spy(spy->queue);
    bind_spy(spy->queue, exchange, routing_key);
    spy->broker = consume(spy->queue);
}

void testing_spy_bind(struct testing_spy *spy, const char *exchange, const char *routing_key)
{
    bind_spy(spy->queue, exchange, routing_key);
}

static void take(struct broker *b, struct testing_letters *to, size_t count, int quiet_ms)
{
    int64_t deadline = testing_now_ms() + TESTING_PATIENCE * 15000, quiet_until = testing_now_ms() + quiet_ms;
    struct error err = {0};

    while (to->count < count || testing_now_ms() < quiet_until) {
        size_t got;

        ck_assert_msg(testing_now_ms() < deadline, "waited in vain: %zu of %zu letters", to->count, count);
        ck_assert_uint_lt(to->count, TESTING_LETTERS_MAX);
        ck_assert_ok(broker_take(b, &to->list[to->count], 1, 20, &got, &err), &err);
        if (got == 0)
            continue;
        to->at[to->count] = clock_wall_ms();
        ck_assert_ok(broker_ack(b, to->list[to->count].tag, false, &err), &err);
        to->count++;
        quiet_until = testing_now_ms() + quiet_ms;
    }
}

void testing_spy_take(struct testing_spy *spy, struct testing_letters *to, size_t count, int quiet_ms)
{
    take(spy->broker, to, count, quiet_ms);
}

void testing_spy_close(struct testing_spy *spy)
{
    broker_close(&spy->broker, true);
}

void testing_letters_dead(struct testing_letters *to, size_t count, int quiet_ms)
{
    struct broker *b = consume(topology_name(TOPOLOGY_QUEUE_DEAD));

    take(b, to, count, quiet_ms);
    broker_close(&b, true);
}

void testing_letters_free(struct testing_letters *letters)
{
    for (size_t i = 0; i < letters->count; i++)
        broker_delivery_release(&letters->list[i]);
    letters->count = 0;
}

const char *testing_header(const struct broker_delivery *d, const char *name)
{
    static char texts[8][1000];
    static unsigned n;
    char *text = texts[n++ % 8];
    struct broker_header h;

    if (broker_delivery_find(d, name, &h))
        snprintf(text, sizeof texts[0], "%.*s", (int)h.value.len, h.value.ptr);
    else
        snprintf(text, sizeof texts[0], "(absent)");
    return text;
}

int64_t testing_header_time(const struct broker_delivery *d, const char *name)
{
    const char *text = testing_header(d, name);
    struct tm tm = {0};
    int ms = 0;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    ck_assert_msg(rest && sscanf(rest, ".%3dZ", &ms) == 1 && strlen(text) == 24, "%s is %s", name, text);
    return (int64_t)timegm(&tm) * 1000 + ms;
}

void testing_assert_stripped(const struct broker_delivery *d)
{
    struct broker_header h;

    for (size_t i = 0; broker_delivery_header(d, i, &h); i++)
        ck_assert_msg(h.name.len < 2 || strncasecmp(h.name.ptr, "x-", 2) != 0, "%.*s travelled on", (int)h.name.len,
                      h.name.ptr);
}

void testing_faults(const char *faults)
{
    setenv("ORDERD_FAULT", faults, 1);
#ifdef ORDERD_FAULTS
    fault_reset();
#endif
}

pid_t testing_crash_begin(const char *fault)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        testing_faults(fault);
        testing_lane_start(1);
        clock_sleep_ms(30000);
        _exit(1);
    }
    return pid;
}

void testing_crash_end(pid_t victim, const char *fault)
{
    int status;

    ck_assert_int_eq(waitpid(victim, &status, 0), victim);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s was not passed", fault);
}

void testing_crash_at(const char *fault)
{
    testing_crash_end(testing_crash_begin(fault), fault);
}

static void tell(const struct broker_delivery *d)
{
    json_t *root = json_loadb(d->body.ptr, d->body.len, 0, NULL), *entry;
    const char *event = json_string_value(json_object_get(root, "event"));
    struct strbuf sql = STRBUF_INIT;
    struct error err = {0};
    size_t n;

    ck_assert_msg(event && json_array_size(json_object_get(root, "orders")) > 0, "%.*s", (int)d->body.len, d->body.ptr);
    strbuf_add_str(&sql, "INSERT INTO told VALUES");
    json_array_foreach(json_object_get(root, "orders"), n, entry)
        strbuf_addf(&sql, "%s('%.*s','%s','%s')", n ? "," : "", (int)d->message_id.len, d->message_id.ptr, event,
                    json_string_value(json_object_get(entry, "order_no")));
    ck_assert_ok(db_run(testing_lane_db, (struct slice){sql.data, sql.len}, &err), &err);
    strbuf_release(&sql);
    json_decref(root);
}

static bool told_before(const struct testing_letters *letters, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (!slice_equal(letters->list[i].message_id, letters->list[j].message_id))
            continue;
        ck_assert(slice_equal(letters->list[i].body, letters->list[j].body));
        return true;
    }
    return false;
}

void testing_letters_told(const struct testing_letters *letters)
{
    testing_sql("DROP TABLE IF EXISTS told; CREATE TABLE told(message_id VARCHAR(100),event VARCHAR(40),order_no "
                "VARCHAR(40)) CHARACTER SET ascii COLLATE ascii_bin");
    for (size_t i = 0; i < letters->count; i++) {
        if (!told_before(letters, i))
            tell(&letters->list[i]);
    }
}
