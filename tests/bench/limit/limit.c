#include "limit.h"

#include <amqp_tcp_socket.h>
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAME_MAX 131072

void limit_fail(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fputs("limit: ", stderr);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(1);
}

const char *limit_env(const char *name)
{
    const char *value = getenv(name);

    if (value == NULL)
        limit_fail("%s is not set; run it through tests/with-stack", name);
    return value;
}

long limit_number(const char *text, long least, long most)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || n < least || n > most)
        limit_fail("%s is not a number from %ld to %ld", text, least, most);
    return n;
}

double limit_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void limit_print(const char *what, long count, double seconds)
{
    printf("{\"what\":\"%s\",\"count\":%ld,\"seconds\":%.3f,\"rate\":%.0f}\n", what, count, seconds,
           (double)count / seconds);
}

/* The first line of a password file. */
static void read_password(const char *variable, char *out, size_t size)
{
    FILE *f = fopen(limit_env(variable), "r");

    if (f == NULL || fgets(out, (int)size, f) == NULL)
        limit_fail("%s cannot be read", limit_env(variable));
    fclose(f);
    out[strcspn(out, "\n")] = '\0';
}

MYSQL *limit_mysql(const char *database)
{
    MYSQL *mysql = mysql_init(NULL);
    char password[128];

    read_password("ORDERD_DB_PASSWORD_FILE", password, sizeof password);
    if (!mysql_real_connect(mysql, limit_env("ORDERD_DB_HOST"), limit_env("ORDERD_DB_USER"), password, database,
                            (unsigned)atoi(limit_env("ORDERD_DB_PORT")), NULL, CLIENT_MULTI_STATEMENTS))
        limit_fail("mysql: %s", mysql_error(mysql));
    limit_sql(mysql, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", 0);
    return mysql;
}

void limit_sql(MYSQL *mysql, const char *text, size_t len)
{
    int more;

    if (mysql_real_query(mysql, text, len ? len : strlen(text)))
        limit_fail("mysql: %s", mysql_error(mysql));
    do {
        mysql_free_result(mysql_store_result(mysql));
        more = mysql_next_result(mysql);
    } while (more == 0);
    if (more > 0)
        limit_fail("mysql: %s", mysql_error(mysql));
}

amqp_connection_state_t limit_broker(void)
{
    amqp_connection_state_t broker = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(broker);
    char password[128];

    read_password("ORDERD_MQ_PASSWORD_FILE", password, sizeof password);
    if (amqp_socket_open(socket, limit_env("ORDERD_MQ_HOST"), atoi(limit_env("ORDERD_MQ_PORT"))) != AMQP_STATUS_OK)
        limit_fail("rabbitmq: no connection");
    if (amqp_login(broker, getenv("BENCH_VHOST") ? getenv("BENCH_VHOST") : "/", 0, FRAME_MAX, 0, AMQP_SASL_METHOD_PLAIN, limit_env("ORDERD_MQ_USER"), password)
            .reply_type != AMQP_RESPONSE_NORMAL)
        limit_fail("rabbitmq: no login");
    amqp_channel_open(broker, 1);
    limit_broker_ok(broker, "channel.open");
    return broker;
}

void limit_broker_ok(amqp_connection_state_t broker, const char *what)
{
    if (amqp_get_rpc_reply(broker).reply_type != AMQP_RESPONSE_NORMAL)
        limit_fail("rabbitmq: %s failed", what);
}

void limit_consume(amqp_connection_state_t broker, const char *queue, long prefetch)
{
    amqp_basic_qos(broker, 1, 0, (uint16_t)prefetch, 0);
    limit_broker_ok(broker, "basic.qos");
    amqp_basic_consume(broker, 1, amqp_cstring_bytes(queue), amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    limit_broker_ok(broker, "basic.consume");
}

bool limit_take(amqp_connection_state_t broker, bool wait, amqp_envelope_t *out)
{
    struct timeval patience = {wait ? 10 : 0, 0};
    amqp_rpc_reply_t reply = amqp_consume_message(broker, out, &patience, 0);

    if (reply.reply_type == AMQP_RESPONSE_NORMAL)
        return true;
    if (!wait && reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION && reply.library_error == AMQP_STATUS_TIMEOUT)
        return false;
    limit_fail("rabbitmq: no message came");
}

void limit_ack(amqp_connection_state_t broker, uint64_t tag)
{
    if (amqp_basic_ack(broker, 1, tag, 1) != AMQP_STATUS_OK)
        limit_fail("rabbitmq: no acknowledgement");
}

struct redisContext *limit_redis(void)
{
    redisContext *redis = redisConnect(limit_env("ORDERD_KV_HOST"), atoi(limit_env("ORDERD_KV_PORT")));

    if (redis == NULL || redis->err)
        limit_fail("redis: no connection");
    return redis;
}

static const struct {
    const char *name;
    int arguments;
    void (*run)(char **arguments);
    const char *use;
} programs[] = {
    {"pipe", 4, limit_pipe,
     "QUEUE COUNT BATCH THREADS     take, insert, acknowledge; the table bench_order is made anew"},
    {"insert", 3, limit_insert, "COUNT BATCH THREADS     rows straight into bench_order"},
    {"queue", 3, limit_queue, "COUNT quorum|classic PREFETCH     publish with confirms, then consume"},
    {"script", 4, limit_script, "FILE ACTIVITY COUNT DEPTH     deduct.lua on shard 0, so many in flight"},
};

int main(int argc, char **argv)
{
    size_t count = sizeof programs / sizeof programs[0];

    for (size_t i = 0; argc > 1 && i < count; i++)
        if (strcmp(argv[1], programs[i].name) == 0 && argc == programs[i].arguments + 2) {
            mysql_library_init(0, NULL, NULL);
            programs[i].run(argv + 2);
            return 0;
        }
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "Usage: limit %s %s\n", programs[i].name, programs[i].use);
    return 64;
}
