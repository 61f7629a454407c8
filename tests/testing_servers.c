#include "testing.h"

#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

const char *testing_env(const char *name)
{
    const char *value = getenv(name);

    ck_assert_msg(value != NULL, "%s is not set: run this test through tests/with-stack", name);
    return value;
}

struct conf *testing_conf(const char *extra)
{
    char path[] = "/tmp/orderd_test_conf_XXXXXX";
    int fd = mkstemp(path);
    FILE *f;
    struct error err;
    struct conf *conf;

    ck_assert_msg(fd >= 0, "cannot make a temporary file");
    f = fdopen(fd, "w");
    ck_assert(f != NULL);
    fprintf(f,
            "broker: { host = \"%s\"; port = %s; user = \"%s\"; vhost = \"/\"; password_file = \"%s\"; };\n"
            "mysql: { host = \"%s\"; port = %s; user = \"%s\"; password_file = \"%s\"; database = \"%s\"; };\n"
            "redis: { host = \"%s\"; port = %s; };\n%s\n",
            testing_env("ORDERD_MQ_HOST"), testing_env("ORDERD_MQ_PORT"), testing_env("ORDERD_MQ_USER"),
            testing_env("ORDERD_MQ_PASSWORD_FILE"), testing_env("ORDERD_DB_HOST"), testing_env("ORDERD_DB_PORT"),
            testing_env("ORDERD_DB_USER"), testing_env("ORDERD_DB_PASSWORD_FILE"), testing_env("ORDERD_DB_NAME"),
            testing_env("ORDERD_KV_HOST"), testing_env("ORDERD_KV_PORT"), extra ? extra : "");
    fclose(f);
    conf = conf_load(path, &err);
    unlink(path);
    ck_assert_msg(conf != NULL, "%s", err.text);
    return conf;
}

void testing_rabbitmqctl(const char *fmt, ...)
{
    char what[1000], command[2000];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    snprintf(command, sizeof command, "%s -q %s >/dev/null", testing_env("ORDERD_RABBITMQCTL"), what);
    ck_assert_msg(system(command) == 0, "%s", command);
}

/* Brokers before 4.0 look it up for each channel, later ones once for all. */
void testing_limit_bodies(long bytes)
{
    testing_rabbitmqctl(
        "eval 'application:set_env(rabbit,max_message_size,%ld),persistent_term:put(max_message_size,%ld).'", bytes,
        bytes);
}

void testing_administer(const char *fmt, ...)
{
    char sql[512], command[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(sql, sizeof sql, fmt, ap);
    va_end(ap);
    snprintf(command, sizeof command, "%s -e \"%s\"", testing_env("ORDERD_MARIADB"), sql);
    ck_assert_msg(system(command) == 0, "%s", command);
}

int testing_free_port(void)
{
    static int tries;

    for (;;) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool is_free;

        ck_assert(fd >= 0 && tries < 8000);
        at.sin_port = htons((uint16_t)(12000 + (getpid() * 8 + tries++) % 8000));
        is_free = bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
        close(fd);
        if (is_free)
            return ntohs(at.sin_port);
    }
}

void testing_stack(const char *verb, const char *server, const char *option)
{
    char command[1000];

    snprintf(command, sizeof command, "%s/scripts/stack %s %s %s %s >/dev/null", testing_env("ORDERD_SOURCE"), verb,
             testing_env("ORDERD_STACK_DIR"), server, option);
    ck_assert_msg(system(command) == 0, "%s", command);
}
