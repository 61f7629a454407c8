/* The key-value client against a peer of our own, which does what no server does on request. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orderd/stock.h"
#include "testing_redis.h"

/* A peer: accepts one connection, answers the greeting, then does its act. */
struct peer {
    int listener, port;
    pthread_t thread;
    void (*act)(struct peer *peer, int fd);
    const char *text;
    atomic_int requests;
    char last[512]; /* the last request it read; read it after peer_end */
};

/* Whether all that the reader was fed is whole requests. */
static bool whole(redisReader *reader)
{
    while (reader->pos < reader->len) {
        void *request;

        ck_assert_int_eq(redisReaderGetReply(reader, &request), REDIS_OK);
        if (!request)
            return false;
        freeReplyObject(request);
    }
    return true;
}

/* What was sent at once, to its end: a script is longer than what may arrive first. */
static bool hear(struct peer *peer, int fd)
{
    redisReader *reader = redisReaderCreate();
    char bytes[4096];
    ssize_t n;
    size_t len = 0;

    do {
        n = read(fd, bytes, sizeof bytes);
        for (ssize_t i = 0; i < n && len < sizeof peer->last - 1; i++)
            peer->last[len++] = bytes[i];
    } while (n > 0 && redisReaderFeed(reader, bytes, (size_t)n) == REDIS_OK && !whole(reader));
    redisReaderFree(reader);
    if (n <= 0)
        return false;
    peer->last[len] = '\0';
    atomic_fetch_add(&peer->requests, 1);
    return true;
}

static void say(int fd, const char *text)
{
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void *peer_run(void *data)
{
    struct peer *peer = data;
    int fd = accept(peer->listener, NULL, NULL);

    if (fd < 0)
        return NULL;
    if (hear(peer, fd)) {
        say(fd, "+OK\r\n");
        peer->act(peer, fd);
    }
    close(fd);
    return NULL;
}

static void peer_begin(struct peer *peer, void (*act)(struct peer *peer, int fd), const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    *peer = (struct peer){.act = act, .text = text};
    peer->listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(peer->listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(peer->listener, 4), 0);
    ck_assert_int_eq(getsockname(peer->listener, (struct sockaddr *)&address, &size), 0);
    peer->port = ntohs(address.sin_port);
    CHECK_ZERO(pthread_create(&peer->thread, NULL, peer_run, peer));
}

static void peer_end(struct peer *peer)
{
    CHECK_ZERO(pthread_join(peer->thread, NULL));
    close(peer->listener);
}

static struct kv *open_at(int port, int64_t command_timeout)
{
    struct conf conf = testing_redis_conf("127.0.0.1", port);
    struct error err;
    struct kv *kv;

    conf.redis_command_timeout = command_timeout;
    kv = kv_open(&conf, "test", &err);
    ck_assert_msg(kv != NULL, "%s", err.text);
    return kv;
}

static struct error ping(struct kv *kv)
{
    struct error err = {0};
    struct kv_reply *reply = kv_command(kv, (const struct slice[]){slice_of("PING")}, 1, &err);

    ck_assert(!reply == (err.code != ERROR_NONE));
    kv_reply_free(&reply);
    return err;
}

static void answer_with_text(struct peer *peer, int fd)
{
    while (hear(peer, fd))
        say(fd, peer->text);
}

/* X: what the server says, what it means, and whether the connection can be used on. */
static const struct {
    const char *says;
    enum error_code code;
    bool usable;
} words[] = {
    {"-LOADING Redis is loading the dataset in memory\r\n", ERROR_KV_AWAY, false},
    {"-BUSY Redis is busy running a script.\r\n", ERROR_KV_AWAY, false},
    {"-TRYAGAIN Multiple keys request during rehashing of slot\r\n", ERROR_KV_AWAY, false},
    {"-NOREPLICAS Not enough good replicas to write.\r\n", ERROR_KV_AWAY, false},
    {"-UNBLOCKED force unblock\r\n", ERROR_KV_AWAY, false},
    {"-ERR max number of clients reached\r\n", ERROR_KV_AWAY, false},
    {"-READONLY You can't write against a read only replica.\r\n", ERROR_KV_READ_ONLY, false},
    {"-MOVED 3999 127.0.0.1:6381\r\n", ERROR_KV_READ_ONLY, false},
    {"-ASK 3999 127.0.0.1:6381\r\n", ERROR_KV_READ_ONLY, false},
    {"-CLUSTERDOWN Hash slot not served\r\n", ERROR_KV_READ_ONLY, false},
    {"-MASTERDOWN Link with MASTER is down\r\n", ERROR_KV_READ_ONLY, false},
    {"-OOM command not allowed when used memory > 'maxmemory'.\r\n", ERROR_KV_SETUP, true},
    {"-MISCONF Errors writing to the AOF file\r\n", ERROR_KV_SETUP, true},
    {"-NOAUTH Authentication required.\r\n", ERROR_KV_SETUP, true},
    {"-WRONGPASS invalid username-password pair\r\n", ERROR_KV_SETUP, true},
    {"-NOPERM this user has no permissions\r\n", ERROR_KV_SETUP, true},
    {"-DENIED Redis is running in protected mode\r\n", ERROR_KV_SETUP, true},
    {"-ERR unknown command 'EVALSHA', with args\r\n", ERROR_KV_SETUP, true},
    {"-ERR The user executing the script can't run this command or subcommand script: x\r\n", ERROR_KV_SETUP, true},
    {"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n", ERROR_KV_DATA, true},
    {"-CROSSSLOT Keys in request don't hash to the same slot\r\n", ERROR_KV_DATA, true},
    {"-EXECABORT Transaction discarded\r\n", ERROR_KV_DATA, true},
    {"-ERR syntax error\r\n", ERROR_KV_DATA, true},
    {"-BUSYKEY Target key name already exists.\r\n", ERROR_KV_DATA, true}, /* a longer word is another word */
    {"-ASKED\r\n", ERROR_KV_DATA, true},
    {"-\r\n", ERROR_KV_DATA, true},
};

/* What the server says and does not help with. */
static const struct {
    const char *says, *advice;
} advised[] = {
    {"-NOPERM this user has no permissions\r\n", "permissions; give the account its rights: docs/accounts/redis.acl"},
    {"-ERR The user executing the script can't run this command or subcommand script: x\r\n", "x; give the account"},
    {"-ERR ACL failure in script: User has no permissions\r\n", "; give the account"},
    {"-ERR This instance has cluster support disabled\r\n", "disabled; it is no node of a cluster: name one in"},
};

START_TEST(error_words_with_advice)
{
    struct peer peer;
    struct kv *kv;
    struct error err;

    peer_begin(&peer, answer_with_text, advised[_i].says);
    kv = open_at(peer.port, 2000);
    err = ping(kv);
    ck_assert_msg(strstr(err.text, advised[_i].advice), "%s", err.text);
    kv_close(&kv);
    peer_end(&peer);
}
END_TEST

START_TEST(error_words_are_translated)
{
    struct peer peer;
    struct kv *kv;
    struct error err;

    peer_begin(&peer, answer_with_text, words[_i].says);
    kv = open_at(peer.port, 2000);
    err = ping(kv);
    ck_assert_msg(err.code == words[_i].code, "%s: %s", words[_i].says, error_code_name(err.code));
    err = ping(kv);
    ck_assert_int_eq(err.code, words[_i].usable ? words[_i].code : ERROR_KV_AWAY);
    kv_close(&kv);
    peer_end(&peer);
    ck_assert_int_eq(peer.requests, words[_i].usable ? 3 : 2);
}
END_TEST

static void answer_late(struct peer *peer, int fd)
{
    hear(peer, fd);
    usleep(300000);
    say(fd, "+LATE\r\n");
    while (hear(peer, fd))
        say(fd, "+PONG\r\n");
}

START_TEST(a_late_answer_reaches_nobody)
{
    struct peer peer;
    struct kv *kv;

    peer_begin(&peer, answer_late, NULL);
    kv = open_at(peer.port, 100);
    ck_assert_int_eq(ping(kv).code, ERROR_KV_LOST);
    usleep(400000); /* it has answered by now */
    ck_assert_int_eq(ping(kv).code, ERROR_KV_AWAY);
    kv_close(&kv);
    peer_end(&peer);
    ck_assert_int_eq(peer.requests, 2); /* the second was not even sent */
}
END_TEST

static void trickle(struct peer *peer, int fd)
{
    hear(peer, fd);
    say(fd, "$1000\r\n");
    for (int i = 0; i < 100; i++) {
        usleep(20000);
        if (send(fd, "x", 1, MSG_NOSIGNAL) < 0)
            return;
    }
}

START_TEST(a_trickling_peer_does_not_stretch_the_time_out)
{
    struct peer peer;
    struct kv *kv;
    int64_t started;

    peer_begin(&peer, trickle, NULL);
    kv = open_at(peer.port, 200);
    started = testing_now_ms();
    ck_assert_int_eq(ping(kv).code, ERROR_KV_LOST);
    ck_assert_int_ge(testing_now_ms() - started, 190);
    testing_within(started, 1000);
    kv_close(&kv);
    peer_end(&peer);
}
END_TEST

START_TEST(answers_nobody_asked_for_end_the_connection)
{
    struct peer peer;
    struct kv *kv;

    peer_begin(&peer, answer_with_text, "+PONG\r\n+EXTRA\r\n");
    kv = open_at(peer.port, 2000);
    ck_assert_int_eq(ping(kv).code, ERROR_NONE);
    ck_assert_int_eq(ping(kv).code, ERROR_KV_AWAY);
    kv_close(&kv);
    peer_end(&peer);
}
END_TEST

START_TEST(what_is_no_protocol_leaves_the_call_unknown)
{
    struct peer peer;
    struct kv *kv;

    peer_begin(&peer, answer_with_text, "HTTP/1.1 200 OK\r\n\r\n");
    kv = open_at(peer.port, 2000);
    ck_assert_int_eq(ping(kv).code, ERROR_KV_LOST);
    ck_assert_int_eq(ping(kv).code, ERROR_KV_AWAY);
    kv_close(&kv);
    peer_end(&peer);
}
END_TEST

static void load_then_silence(struct peer *peer, int fd)
{
    hear(peer, fd);
    say(fd, "$40\r\n0123456789012345678901234567890123456789\r\n");
    while (hear(peer, fd))
        ;
}

/* Only NOSCRIPT may lead to EVAL: whoever repeats a time-out by itself applies effects twice. */
START_TEST(a_lost_script_call_is_not_repeated)
{
    static const struct kv_script script = {"script", "return 1", false};
    struct kv_call call = {&script, NULL, 0, NULL, 0};
    struct peer peer;
    struct error err;
    struct kv *kv;

    peer_begin(&peer, load_then_silence, NULL);
    kv = open_at(peer.port, 150);
    ck_assert_ptr_null(kv_script_call(kv, &call, &err));
    ck_assert_int_eq(err.code, ERROR_KV_LOST);
    kv_close(&kv);
    peer_end(&peer);
    ck_assert_int_eq(peer.requests, 3);
    ck_assert_ptr_nonnull(strstr(peer.last, "EVALSHA"));
}
END_TEST

/* FIN, and at once RST for what it left unread: the next send(2) is EPIPE, with SIGPIPE unless told otherwise. */
static void hang_up(struct peer *peer, int fd)
{
    hear(peer, fd);
    shutdown(fd, SHUT_WR);
}

/* The peer takes a little of a large request and closes: the rest meets a reset socket, with SIGPIPE at its default. */
START_TEST(a_peer_that_hangs_up_does_not_kill_us)
{
    static char large[1 << 24];
    struct peer peer;
    struct error err = {0};
    struct kv *kv;

    signal(SIGPIPE, SIG_DFL);
    peer_begin(&peer, hang_up, NULL);
    kv = open_at(peer.port, 2000);
    ck_assert_ptr_null(
        kv_command(kv, (const struct slice[]){slice_of("SET"), slice_of("a"), {large, sizeof large}}, 3, &err));
    ck_assert_int_eq(err.code, ERROR_KV_LOST);
    kv_close(&kv);
    peer_end(&peer);
}
END_TEST

static void answer_once(struct peer *peer, int fd)
{
    hear(peer, fd);
    say(fd, "+PONG\r\n");
}

/* So that its outcome is certain: it has not run. */
START_TEST(an_idle_connection_that_was_closed_sends_nothing)
{
    struct peer peer;
    struct kv *kv;

    peer_begin(&peer, answer_once, NULL);
    kv = open_at(peer.port, 2000);
    ck_assert_int_eq(ping(kv).code, ERROR_NONE);
    peer_end(&peer); /* it has closed */
    ck_assert_int_eq(ping(kv).code, ERROR_KV_AWAY);
    kv_close(&kv);
}
END_TEST

START_TEST(nobody_listening_is_an_outage)
{
    struct conf conf = testing_redis_conf("127.0.0.1", testing_free_port());
    struct error err = {0};

    ck_assert_ptr_null(kv_open(&conf, "test", &err));
    ck_assert_int_eq(err.code, ERROR_KV_AWAY);
    ck_assert_ptr_nonnull(strstr(err.text, "refused"));
    conf.redis_host = "not a host name";
    ck_assert_ptr_null(kv_open(&conf, "test", &err));
    ck_assert_int_eq(err.code, ERROR_KV_AWAY);
}
END_TEST

/* In front of the C library's: "two.addresses" has one where nobody listens, and 127.0.0.1. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    struct addrinfo *last;
    int failed;

    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (strcmp(host, "two.addresses") != 0)
        return real(host, service, hints, found);
    failed = real("127.0.0.99", service, hints, found);
    if (failed)
        return failed;
    for (last = *found; last->ai_next; last = last->ai_next)
        ;
    return real("127.0.0.1", service, hints, &last->ai_next);
}

START_TEST(every_address_of_a_name_is_tried)
{
    struct peer peer;
    struct conf conf;
    struct error err;
    struct kv *kv;

    peer_begin(&peer, answer_with_text, "+PONG\r\n");
    conf = testing_redis_conf("two.addresses", peer.port);
    kv = kv_open(&conf, "test", &err);
    ck_assert_msg(kv != NULL, "%s", err.text);
    kv_close(&kv);
    peer_end(&peer);
}
END_TEST

/* A full accept queue: the kernel drops our SYN, as a dead host would. */
START_TEST(connecting_takes_no_longer_than_its_time_out)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), fillers[4];
    struct conf conf;
    struct error err = {0};
    int64_t started;

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listener, 0), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    for (int i = 0; i < 4; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], (struct sockaddr *)&address, size);
    }
    conf = testing_redis_conf("127.0.0.1", ntohs(address.sin_port));
    conf.redis_connect_timeout = 300;
    started = testing_now_ms();
    ck_assert_ptr_null(kv_open(&conf, "test", &err));
    ck_assert_int_eq(err.code, ERROR_KV_AWAY);
    ck_assert_int_ge(testing_now_ms() - started, 290);
    testing_within(started, 1500);
    for (int i = 0; i < 4; i++)
        close(fillers[i]);
    close(listener);
}
END_TEST

static void load_then_answer_with_text(struct peer *peer, int fd)
{
    hear(peer, fd);
    say(fd, "$40\r\n0123456789012345678901234567890123456789\r\n");
    answer_with_text(peer, fd);
}

/* Found by tests/fuzz: an empty list has no code to be read. */
static const char *const no_answers[] = {"*0\r\n",  "*1\r\n:1\r\n", ":1\r\n", "$-1\r\n", "*2\r\n:1\r\n:1\r\n",
                                         "*-1\r\n", "*1\r\n*0\r\n"};

START_TEST(a_script_answer_of_another_shape_is_an_error)
{
    const struct stock_sought sought = {.order_no = slice_of("A1"), .user = 1};
    struct error err = {0};
    struct stock_seen seen;
    struct peer peer;
    struct kv *kv;
    int64_t now;

    peer_begin(&peer, load_then_answer_with_text, no_answers[_i]);
    kv = open_at(peer.port, 5000);
    ck_assert(!stock_look(kv, 1001, &sought, 1, &seen, &now, &err));
    ck_assert_int_eq(err.code, ERROR_KV_DATA);
    kv_close(&kv);
    peer_end(&peer);
}
END_TEST

START_TEST(what_is_not_there_is_nil)
{
    ck_assert_int_eq(kv_reply_kind(NULL), KV_NIL);
    ck_assert_int_eq(kv_reply_integer(NULL), 0);
    ck_assert_uint_eq(kv_reply_text(NULL).len, 0);
    ck_assert_uint_eq(kv_reply_count(NULL), 0);
    ck_assert_ptr_null(kv_reply_at(NULL, 0));
}
END_TEST

/* The first answer, to AUTH, is peer_run's; this one is to what follows it, and is worded like that to an unknown AUTH.
 */
static void repeat_the_password(struct peer *peer, int fd)
{
    (void)peer;
    say(fd, "-ERR unknown command 'AUTH', with args beginning with: 'hunter2' \r\n");
    while (hear(peer, fd))
        ;
}

START_TEST(a_password_is_not_repeated)
{
    struct peer peer;
    struct conf conf;
    struct error err = {0};

    peer_begin(&peer, repeat_the_password, NULL);
    conf = testing_redis_conf("127.0.0.1", peer.port);
    conf.redis_password_file = "hunter2";
    ck_assert_ptr_null(kv_open(&conf, "test", &err));
    ck_assert_int_eq(err.code, ERROR_KV_SETUP);
    ck_assert_ptr_null(strstr(err.text, "hunter2"));
    ck_assert_ptr_nonnull(strstr(err.text, "repeat the password"));
    peer_end(&peer);
    ck_assert_ptr_nonnull(strstr(peer.last, "hunter2")); /* it was told */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv");
    TCase *tc = tcase_create("kv");

    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, error_words_with_advice, 0, (int)(sizeof advised / sizeof *advised));
    tcase_add_loop_test(tc, error_words_are_translated, 0, (int)(sizeof words / sizeof *words));
    tcase_add_loop_test(tc, a_script_answer_of_another_shape_is_an_error, 0,
                        (int)(sizeof no_answers / sizeof *no_answers));
    tcase_add_test(tc, what_is_not_there_is_nil);
    tcase_add_test(tc, a_password_is_not_repeated);
    tcase_add_test(tc, a_late_answer_reaches_nobody);
    tcase_add_test(tc, a_trickling_peer_does_not_stretch_the_time_out);
    tcase_add_test(tc, answers_nobody_asked_for_end_the_connection);
    tcase_add_test(tc, what_is_no_protocol_leaves_the_call_unknown);
    tcase_add_test(tc, a_lost_script_call_is_not_repeated);
    tcase_add_test(tc, a_peer_that_hangs_up_does_not_kill_us);
    tcase_add_test(tc, an_idle_connection_that_was_closed_sends_nothing);
    tcase_add_test(tc, nobody_listening_is_an_outage);
    tcase_add_test(tc, every_address_of_a_name_is_tried);
    tcase_add_test(tc, connecting_takes_no_longer_than_its_time_out);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
