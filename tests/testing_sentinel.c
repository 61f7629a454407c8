#include "testing_sentinel.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void prepare(const struct testing_sentinels *s, struct testing_redis *server)
{
    testing_redis_prepare(server);
    if (s->tls)
        testing_redis_speak_tls(server);
}

static void start_servers(struct testing_sentinels *s)
{
    char port[16];
    const char *const extra[] = {"--requirepass", TESTING_SERVER_SECRET, "--masterauth", TESTING_SERVER_SECRET, NULL};
    const char *const replica[] = {"--requirepass",
                                   TESTING_SERVER_SECRET,
                                   "--masterauth",
                                   TESTING_SERVER_SECRET,
                                   "--repl-diskless-sync-delay",
                                   "0",
                                   "--replicaof",
                                   "127.0.0.1",
                                   port,
                                   NULL};

    prepare(s, &s->servers[0]);
    testing_redis_again(&s->servers[0], extra);
    snprintf(port, sizeof port, "%d", testing_redis_known(&s->servers[0]));
    prepare(s, &s->servers[1]);
    testing_redis_again(&s->servers[1], replica);
}

static void start_sentinel(const struct testing_sentinels *s, struct testing_redis *sentinel)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", sentinel->dir, TESTING_REDIS_FILE);
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f,
            "requirepass %s\nsentinel sentinel-pass %s\n"
            "sentinel monitor %s 127.0.0.1 %d 2\n"
            "sentinel auth-pass %s %s\n"
            "sentinel down-after-milliseconds %s 500\n"
            "sentinel failover-timeout %s 5000\n",
            TESTING_SENTINEL_SECRET, TESTING_SENTINEL_SECRET, TESTING_SENTINEL_NAME,
            testing_redis_known(&s->servers[0]), TESTING_SENTINEL_NAME, TESTING_SERVER_SECRET, TESTING_SENTINEL_NAME,
            TESTING_SENTINEL_NAME);
    fclose(f);
    testing_redis_again(sentinel, (const char *const[]){"--sentinel", NULL});
}

static struct kv *open_sentinel(const struct testing_sentinels *s, int i)
{
    struct conf conf = testing_redis_conf("127.0.0.1", s->sentinels[i].port);
    struct error err;
    struct kv *kv;

    conf.redis_password_file = TESTING_SENTINEL_SECRET;
    kv = kv_open(&conf, "test", &err);
    ck_assert_msg(kv != NULL, "%s", err.text);
    return kv;
}

/* It counts two other Sentinels and the replica. */
static bool knows_all(struct kv *kv)
{
    struct kv_reply *others = testing_redis_do(kv, "SENTINEL", "SENTINELS", TESTING_SENTINEL_NAME, NULL);
    struct kv_reply *replicas = testing_redis_do(kv, "SENTINEL", "REPLICAS", TESTING_SENTINEL_NAME, NULL);
    bool all = kv_reply_count(others) == TESTING_SENTINELS - 1 && kv_reply_count(replicas) == 1;

    kv_reply_free(&others);
    kv_reply_free(&replicas);
    return all;
}

static void start(struct testing_sentinels *s, bool tls)
{
    s->tls = tls;
    start_servers(s);
    for (int i = 0; i < TESTING_SENTINELS; i++) {
        prepare(s, &s->sentinels[i]);
        start_sentinel(s, &s->sentinels[i]);
    }
    snprintf(s->nodes, sizeof s->nodes, "127.0.0.1:%d, 127.0.0.1:%d 127.0.0.1:%d",
             testing_redis_known(&s->sentinels[0]), testing_redis_known(&s->sentinels[1]),
             testing_redis_known(&s->sentinels[2]));
    for (int i = 0; i < TESTING_SENTINELS; i++) {
        struct kv *kv = open_sentinel(s, i);

        testing_wait(knows_all(kv), 20000, "the Sentinels know each other");
        kv_close(&kv);
    }
}

void testing_sentinels_start(struct testing_sentinels *s)
{
    start(s, false);
}

void testing_sentinels_start_tls(struct testing_sentinels *s)
{
    start(s, true);
}

void testing_sentinels_add(const struct testing_sentinels *s, struct testing_redis *sentinel, const char *certificate)
{
    testing_redis_prepare(sentinel);
    testing_redis_speak_tls(sentinel);
    testing_redis_wear(sentinel, certificate);
    start_sentinel(s, sentinel);
}

void testing_sentinels_stop(struct testing_sentinels *s)
{
    for (int i = 0; i < TESTING_SENTINELS; i++)
        testing_redis_stop(&s->sentinels[i]);
    testing_redis_stop(&s->servers[0]);
    testing_redis_stop(&s->servers[1]);
}

struct conf testing_sentinels_conf(const struct testing_sentinels *s)
{
    struct conf conf = testing_redis_conf("127.0.0.1", 1);

    conf.redis_mode = CONF_MODE_SENTINEL;
    conf.redis_nodes = s->nodes;
    conf.redis_sentinel_master = TESTING_SENTINEL_NAME;
    conf.redis_sentinel_password_file = TESTING_SENTINEL_SECRET;
    conf.redis_sentinel_timeout = 1000;
    conf.redis_password_file = TESTING_SERVER_SECRET;
    if (s->tls)
        testing_redis_by_tls(&conf);
    return conf;
}

int testing_sentinels_primary(const struct testing_sentinels *s, int i)
{
    struct kv *kv = open_sentinel(s, i);
    struct kv_reply *reply = testing_redis_do(kv, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", TESTING_SENTINEL_NAME, NULL);
    int port = (int)kv_reply_integer(kv_reply_at(reply, 1));

    kv_reply_free(&reply);
    kv_close(&kv);
    return port;
}

/* It answers INPROG or NOGOODSLAVE where it cannot just now. */
static bool asked_for_failover(struct kv *kv)
{
    struct error err;
    struct kv_reply *reply = kv_command(
        kv, (const struct slice[]){slice_of("SENTINEL"), slice_of("FAILOVER"), slice_of(TESTING_SENTINEL_NAME)}, 3,
        &err);
    bool ok = reply != NULL;

    kv_reply_free(&reply);
    return ok;
}

/* It tries again where it gave up, as it does where something takes too long. */
static bool has_moved(const struct testing_sentinels *s, struct kv *kv, int before, int64_t *asked)
{
    if (testing_sentinels_primary(s, 0) != before)
        return true;
    if (testing_now_ms() > *asked + 6000 && asked_for_failover(kv))
        *asked = testing_now_ms();
    return false;
}

void testing_sentinels_failover(const struct testing_sentinels *s)
{
    int before = testing_sentinels_primary(s, 0);
    struct kv *kv = open_sentinel(s, 0);
    int64_t asked;

    testing_wait(asked_for_failover(kv), 10000, "the Sentinel begins a failover");
    asked = testing_now_ms();
    testing_wait(has_moved(s, kv, before, &asked), 20000, "the Sentinel names the new primary");
    kv_close(&kv);
}

void testing_sentinels_revive(struct testing_sentinels *s, int server)
{
    char port[16];

    snprintf(port, sizeof port, "%d", testing_redis_known(&s->servers[!server]));
    testing_redis_again(&s->servers[server],
                        (const char *const[]){"--requirepass", TESTING_SERVER_SECRET, "--masterauth",
                                              TESTING_SERVER_SECRET, "--replicaof", "127.0.0.1", port, NULL});
}

/* ---- of straw ---- */

/* Two questions about a primary, which come together. */
static bool hear(int fd)
{
    const char *second = "\r\nmaster\r\n$4\r\n" TESTING_SENTINEL_NAME "\r\n";
    char request[512] = "";
    size_t have = 0;

    while (!strstr(request, second)) {
        ssize_t n = have + 1 < sizeof request ? read(fd, request + have, sizeof request - 1 - have) : 0;

        if (n <= 0)
            return false;
        have += (size_t)n;
        request[have] = '\0';
    }
    return true;
}

static void answer(struct testing_straw *straw, int fd)
{
    char ignored[512], address[64], epoch[64], reply[256], text[16];
    int names = __atomic_load_n(&straw->names, __ATOMIC_SEQ_CST);
    int failover = __atomic_load_n(&straw->epoch, __ATOMIC_SEQ_CST);

    if (read(fd, ignored, sizeof ignored) <= 0) /* CLIENT SETNAME */
        return;
    if (send(fd, "+OK\r\n", 5, MSG_NOSIGNAL) != 5 || !hear(fd))
        return;
    __atomic_add_fetch(&straw->asked, 1, __ATOMIC_SEQ_CST);
    snprintf(text, sizeof text, "%d", names);
    snprintf(address, sizeof address, "*2\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%s\r\n", strlen(text), text);
    snprintf(text, sizeof text, "%d", failover);
    snprintf(epoch, sizeof epoch, "*2\r\n$12\r\nconfig-epoch\r\n$%zu\r\n%s\r\n", strlen(text), text);
    snprintf(reply, sizeof reply, "%s%s", names == 0 ? "*-1\r\n" : address,
             names == 0       ? "-ERR No such master with that name\r\n"
             : failover == -1 ? "-NOPERM no permissions\r\n"
                              : epoch);
    (void)!send(fd, reply, strlen(reply), MSG_NOSIGNAL);
}

static void *serve(void *data)
{
    struct testing_straw *straw = data;

    for (;;) {
        int fd = accept(straw->listener, NULL, NULL);

        if (fd < 0)
            return NULL;
        if (__atomic_load_n(&straw->names, __ATOMIC_SEQ_CST) >= 0) {
            answer(straw, fd);
            close(fd);
        } /* else it stays open, and silent, until the test's process ends */
    }
}

void testing_straw_start(struct testing_straw *straw, int names)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    pthread_t thread;

    *straw = (struct testing_straw){.names = names};
    straw->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(straw->listener, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(listen(straw->listener, 8), 0);
    ck_assert_int_eq(getsockname(straw->listener, (struct sockaddr *)&at, &size), 0);
    straw->port = ntohs(at.sin_port);
    CHECK_ZERO(pthread_create(&thread, NULL, serve, straw));
    CHECK_ZERO(pthread_detach(thread));
}

const char *testing_sentinels_secret(char path[256], const char *name, const char *secret)
{
    FILE *f;

    snprintf(path, 256, "%s/%s", testing_dir(), name);
    unlink(path);
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "%s\n", secret);
    fclose(f);
    CHECK_ZERO(chmod(path, 0400));
    return path;
}
