#include "testing_redis.h"

#include <fcntl.h>
#include <ftw.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct conf testing_redis_conf(const char *host, int port)
{
    return (struct conf){.redis_host = host,
                         .redis_port = port,
                         .redis_user = "",
                         .redis_password_file = "",
                         .redis_connect_timeout = 2000,
                         .redis_command_timeout = 5000};
}

static struct kv *open_at(const char *host, int port)
{
    struct conf conf = testing_redis_conf(host, port);
    struct error err;
    struct kv *kv = kv_open(&conf, "test", &err);

    ck_assert_msg(kv != NULL, "%s", err.text);
    return kv;
}

struct kv *testing_redis_open(int port)
{
    return open_at("127.0.0.1", port);
}

struct kv *testing_redis_shared(void)
{
    return open_at(testing_env("ORDERD_KV_HOST"), atoi(testing_env("ORDERD_KV_PORT")));
}

static struct kv_reply *run(struct kv *kv, va_list ap)
{
    struct slice argv[32];
    size_t argc = 0;
    struct error err;
    struct kv_reply *reply;
    const char *word;

    while ((word = va_arg(ap, const char *))) {
        ck_assert_uint_lt(argc, 32);
        argv[argc++] = slice_of(word);
    }
    reply = kv_command(kv, argv, argc, &err);
    ck_assert_msg(reply != NULL, "%s: %s", argv[0].ptr, err.text);
    return reply;
}

struct kv_reply *testing_redis_do(struct kv *kv, ...)
{
    struct kv_reply *reply;
    va_list ap;

    va_start(ap, kv);
    reply = run(kv, ap);
    va_end(ap);
    return reply;
}

void testing_redis_run(struct kv *kv, ...)
{
    struct kv_reply *reply;
    va_list ap;

    va_start(ap, kv);
    reply = run(kv, ap);
    va_end(ap);
    kv_reply_free(&reply);
}

/* ---- TLS ---- */

static void make_certificates(void)
{
    char command[800];

    snprintf(command, sizeof command, "%s/scripts/certificates %s", testing_env("ORDERD_SOURCE"), testing_dir());
    ck_assert_msg(system(command) == 0, "%s", command);
}

/* Paths stay valid: configurations point to them. */
const char *testing_certificate(const char *file)
{
    static char *known[24];
    char path[300];
    int i = 0;

    snprintf(path, sizeof path, "%s/%s", testing_dir(), file);
    if (access(path, F_OK) != 0)
        make_certificates();
    while (i < 24 && known[i] && strcmp(known[i], path) != 0)
        i++;
    ck_assert_msg(i < 24 && access(path, F_OK) == 0, "no %s", path);
    if (!known[i])
        known[i] = check_strdup(path);
    return known[i];
}

void testing_redis_wear(const struct testing_redis *server, const char *name)
{
    char pem[64], key[64], command[1200];

    snprintf(pem, sizeof pem, "%s.pem", name);
    snprintf(key, sizeof key, "%s.key", name);
    snprintf(command, sizeof command, "cp %s %s/own.pem && cp %s %s/own.key", testing_certificate(pem), server->dir,
             testing_certificate(key), server->dir);
    ck_assert_msg(system(command) == 0, "%s", command);
}

void testing_redis_speak_tls(struct testing_redis *server)
{
    server->tls_port = testing_free_port();
    testing_redis_wear(server, "server");
}

void testing_redis_show(const struct testing_redis *server, const char *password, const char *name)
{
    struct conf conf = testing_redis_conf("127.0.0.1", server->port);
    char pem[96], key[96];
    struct error err;
    struct kv *kv;

    conf.redis_password_file = password;
    kv = kv_open(&conf, "test", &err);
    ck_assert_msg(kv != NULL, "%s", err.text);
    testing_redis_wear(server, name);
    snprintf(pem, sizeof pem, "%s/own.pem", server->dir);
    snprintf(key, sizeof key, "%s/own.key", server->dir);
    testing_redis_run(kv, "CONFIG", "SET", "tls-cert-file", pem, "tls-key-file", key, NULL);
    kv_close(&kv);
}

int testing_redis_known(const struct testing_redis *server)
{
    return server->tls_port ? server->tls_port : server->port;
}

void testing_redis_by_tls(struct conf *conf)
{
    conf->redis_tls = CONF_TLS_VERIFY;
    conf->redis_tls_ca_file = testing_certificate("ca.pem");
    conf->redis_tls_cert_file = testing_certificate("client.pem");
    conf->redis_tls_key_file = testing_certificate("client.key");
}

static size_t add_tls(const struct testing_redis *server, const char **argv)
{
    static char port[16], cert[96], key[96];
    const char *const words[] = {
        "--tls-port",      port,  "--tls-ca-cert-file", testing_certificate("ca.pem"),
        "--tls-cert-file", cert,  "--tls-key-file",     key,
        "--tls-cluster",   "yes", "--tls-replication",  "yes",
    };
    const size_t count = sizeof words / sizeof *words;

    snprintf(port, sizeof port, "%d", server->tls_port);
    snprintf(cert, sizeof cert, "%s/own.pem", server->dir);
    snprintf(key, sizeof key, "%s/own.key", server->dir);
    memcpy(argv, words, sizeof words);
    return count;
}

/* ---- processes ---- */

static void become_server(const struct testing_redis *server, const char *const *extra)
{
    char port[16];
    char file[96];
    const char *argv[48] = {"redis-server"};
    const char *const own[] = {"--bind", "127.0.0.1", "--port", port, "--dir", server->dir, "--save", "", NULL};
    size_t argc = 1;
    int log = open("/dev/null", O_WRONLY | O_CLOEXEC);

    snprintf(port, sizeof port, "%d", server->port);
    snprintf(file, sizeof file, "%s/%s", server->dir, TESTING_REDIS_FILE);
    if (access(file, F_OK) == 0)
        argv[argc++] = file;
    for (size_t i = 0; own[i]; i++)
        argv[argc++] = own[i];
    argc += server->tls_port ? add_tls(server, argv + argc) : 0;
    while (extra && *extra && argc < 47)
        argv[argc++] = *extra++;
    argv[argc] = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(log, STDOUT_FILENO);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static bool answers(int port)
{
    struct conf conf = testing_redis_conf("127.0.0.1", port);
    struct error err;
    struct kv *kv = kv_open(&conf, "probe", &err);
    bool up = kv || err.code == ERROR_KV_SETUP; /* it wants a password: it is there */

    kv_close(&kv);
    return up;
}

void testing_redis_again(struct testing_redis *server, const char *const *extra)
{
    server->pid = fork();
    ck_assert_int_ge(server->pid, 0);
    if (server->pid == 0)
        become_server(server, extra);
    testing_wait(answers(server->port), 10000, "redis-server answers");
}

void testing_redis_prepare(struct testing_redis *server)
{
    snprintf(server->dir, sizeof server->dir, "/tmp/orderd_test_redis_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(server->dir));
    server->port = testing_free_port();
    server->tls_port = 0;
}

void testing_redis_start(struct testing_redis *server, const char *const *extra)
{
    testing_redis_prepare(server);
    testing_redis_again(server, extra);
}

void testing_redis_kill(struct testing_redis *server)
{
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void testing_redis_stop(struct testing_redis *server)
{
    testing_redis_kill(server);
    nftw(server->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

struct testing_listener {
    redisContext *context;
    redisReply *last;
};

struct testing_listener *testing_listener_open(const char *channel)
{
    struct testing_listener *l = check_calloc(1, sizeof *l);

    l->context = redisConnect(testing_env("ORDERD_KV_HOST"), atoi(testing_env("ORDERD_KV_PORT")));
    ck_assert(l->context && l->context->err == 0);
    l->last = redisCommand(l->context, "SUBSCRIBE %s", channel);
    ck_assert(l->last && l->last->type == REDIS_REPLY_ARRAY);
    return l;
}

const char *testing_listener_next(struct testing_listener *l, int ms)
{
    struct pollfd fd = {.fd = l->context->fd, .events = POLLIN};
    void *reply = NULL;

    /* Several may have come with one read. */
    ck_assert_int_eq(redisGetReplyFromReader(l->context, &reply), REDIS_OK);
    if (!reply && poll(&fd, 1, ms) != 1)
        return NULL;
    if (!reply)
        ck_assert_int_eq(redisGetReply(l->context, &reply), REDIS_OK);
    freeReplyObject(l->last);
    l->last = reply;
    ck_assert(l->last->type == REDIS_REPLY_ARRAY && l->last->elements == 3);
    ck_assert_str_eq(l->last->element[0]->str, "message");
    return l->last->element[2]->str;
}

void testing_listener_close(struct testing_listener **listener)
{
    freeReplyObject((*listener)->last);
    redisFree((*listener)->context);
    free(*listener);
    *listener = NULL;
}
