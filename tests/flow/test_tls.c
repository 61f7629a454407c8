/* TLS with all three servers: real ones that speak it and ask for a certificate (TLS_*, see tests/stacks), beside the
 * usual ones that do not. What goes wrong has a sentence of its own, which says what, where, and what to do. */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orderd/broker.h"
#include "orderd/kv.h"
#include "orderd/tls.h"
#include "testing.h"
#include "testing_fact.h"

enum server { BROKER, MYSQL, REDIS, SERVERS };

static const struct {
    const char *group, *name, *plain_port, *tls_port, *timeout;
    enum error_code setup, away;
} servers[SERVERS] = {
    [BROKER] = {"broker", "broker ", "ORDERD_MQ_PORT", "TLS_MQ_TLS_PORT", "500ms", ERROR_BROKER_SETUP,
                ERROR_BROKER_AWAY},
    [MYSQL] = {"mysql", "MySQL at ", "ORDERD_DB_PORT", "TLS_DB_PORT", "1s", ERROR_DB_SETUP, ERROR_DB_AWAY},
    [REDIS] = {"redis", "Redis ", "ORDERD_KV_PORT", "TLS_KV_TLS_PORT", "500ms", ERROR_KV_SETUP, ERROR_KV_AWAY},
};

/* One group of a configuration; what is left NULL is as it should be. "" for cert: none. */
struct want {
    const char *host, *port, *tls, *ca, *cert, *key, *user, *timeout;
    const char *hosts; /* of MySQL; else there is no such list */
    const char *auth;  /* of the broker */
};

static const char *file(const char *name)
{
    static char paths[8][300];
    static unsigned turn;
    char *path = paths[turn++ % 8];

    if (name[0] == '/')
        return name;
    snprintf(path, sizeof paths[0], "%s/%s", testing_env("TLS_CERTIFICATES"), name);
    return path;
}

static const char *or_else(const char *value, const char *otherwise)
{
    return value ? value : otherwise;
}

static void write_group(FILE *f, enum server server, const struct want *w)
{
    const char *tls = or_else(w->tls, "verify"), *cert = or_else(w->cert, "client.pem");
    const char *port = or_else(w->port, testing_env(servers[server].tls_port));

    fprintf(f, "%s: { host = \"%s\"; port = %s; connect_timeout = \"%s\"; tls = \"%s\";", servers[server].group,
            or_else(w->host, "127.0.0.1"), port, or_else(w->timeout, "20s"), tls);
    if (w->hosts)
        fprintf(f, " hosts = \"%s\";", w->hosts);
    if (strcmp(tls, "verify") == 0)
        fprintf(f, " tls_ca_file = \"%s\";", file(or_else(w->ca, "ca.pem")));
    if (cert[0])
        fprintf(f, " tls_cert_file = \"%s\"; tls_key_file = \"%s\";", file(cert), file(or_else(w->key, "client.key")));
    if (server != REDIS)
        fprintf(f, " user = \"%s\"; password_file = \"%s\";", or_else(w->user, "orderd"),
                testing_env(server == MYSQL ? "TLS_DB_PASSWORD_FILE" : "TLS_MQ_PASSWORD_FILE"));
    if (w->auth)
        fprintf(f, " auth = \"%s\";", w->auth);
    fprintf(f, " };\n");
}

static struct conf *configure(enum server server, const struct want *w)
{
    char path[300];
    FILE *f;
    struct error err;
    struct conf *conf;

    snprintf(path, sizeof path, "%s/%s.conf", testing_dir(), testing_name("tls"));
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    write_group(f, server, w);
    fclose(f);
    conf = conf_load(path, &err);
    ck_assert_msg(conf != NULL, "%s", err.text);
    return conf;
}

static bool keep_words(const char *words, char what[64])
{
    snprintf(what, 64, "%s", words ? words : "plain text");
    return true;
}

/* Opens and closes; what: how it was encrypted. */
static bool reach(enum server server, const struct conf *conf, char what[64], struct error *err)
{
    int64_t until;
    struct broker *broker = server == BROKER ? broker_open(conf, "test", err) : NULL;
    struct db *db = server == MYSQL ? db_open(conf, err) : NULL;
    struct kv *kv = server == REDIS ? kv_open(conf, "test", err) : NULL;
    bool ok = (broker && keep_words(broker_encrypted_by(broker, &until), what)) ||
              (db && keep_words(db_encrypted_by(db), what)) || (kv && keep_words(kv_encrypted_by(kv, 0, &until), what));

    broker_close(&broker, true);
    db_close(&db);
    kv_close(&kv);
    return ok;
}

static void assert_reached(enum server server, const struct want *w, const char *words)
{
    struct conf *conf = configure(server, w);
    struct error err = {0};
    char what[64];

    ck_assert_ok(reach(server, conf, what, &err), &err);
    ck_assert_msg(strstr(what, words) != NULL, "%s: %s", servers[server].group, what);
    conf_destroy(&conf);
}

/* The sentence begins with who it is about; "{group}" in the rest stands for the group. */
static void assert_sentence(enum server server, const char *port, const char *rest, const struct error *err)
{
    char expected[ERROR_TEXT_MAX];
    size_t len = (size_t)snprintf(expected, sizeof expected, "%s127.0.0.1:%s: ", servers[server].name, port);

    while (*rest) {
        bool group = strncmp(rest, "{group}", 7) == 0;

        len += (size_t)snprintf(expected + len, sizeof expected - len, group ? "%s" : "%.1s",
                                group ? servers[server].group : rest);
        rest += group ? 7 : 1;
    }
    ck_assert_msg(strncmp(err->text, expected, len) == 0, "expected: %s\nfound:    %s", expected, err->text);
}

static void assert_refused(enum server server, const struct want *w, enum error_code code, const char *rest)
{
    struct conf *conf = configure(server, w);
    struct error err = {0};
    char what[64];

    ck_assert_msg(!reach(server, conf, what, &err), "%s was reached by %s", servers[server].group, what);
    assert_sentence(server, or_else(w->port, testing_env(servers[server].tls_port)), rest, &err);
    ck_assert_str_eq(error_code_name(err.code), error_code_name(code));
    conf_destroy(&conf);
}

/* ---- all is well ---- */

START_TEST(encrypted)
{
    assert_reached((enum server)_i, &(struct want){0}, "TLS_");
    assert_reached((enum server)_i, &(struct want){.host = "localhost"}, "TLS_");
}
END_TEST

#define BULK (3 << 20)

/* More than sockets and TLS records hold, both ways at once. */
START_TEST(bulk_of_redis)
{
    static const struct kv_script echo = {"echo", "return ARGV[1]", .only_reads = true};
    struct conf *conf = configure(REDIS, &(struct want){0});
    struct error err = {0}, errs[8];
    struct kv *kv = kv_open(conf, "test", &err);
    struct kv_reply *replies[8];
    struct kv_call calls[8];
    struct slice bulk = {check_calloc(1, BULK), BULK};

    ck_assert_ok(kv, &err);
    for (int i = 0; i < 8; i++)
        calls[i] = (struct kv_call){.script = &echo, .args = &bulk, .arg_count = 1};
    ck_assert_ok(kv_script_pipeline(kv, calls, 8, replies, errs, &err), &err);
    for (int i = 0; i < 8; i++) {
        ck_assert(replies[i] && slice_equal(kv_reply_text(replies[i]), bulk));
        kv_reply_free(&replies[i]);
    }
    free((void *)(uintptr_t)bulk.ptr);
    kv_close(&kv);
    conf_destroy(&conf);
}
END_TEST

/* What the server ended while we were idle is noticed before the next request leaves, as it is in plain text. */
START_TEST(end_of_an_idle_connection_of_redis)
{
    struct conf *conf = configure(REDIS, &(struct want){0});
    struct conf *plain = configure(REDIS, &(struct want){.port = testing_env("TLS_KV_PORT"), .tls = "off", .cert = ""});
    struct error err = {0};
    struct kv *kv = kv_open(conf, "test", &err), *other = kv_open(plain, "test", &err);
    const struct slice ping[] = {slice_of("PING")};
    const struct slice kill[] = {slice_of("CLIENT"), slice_of("KILL"), slice_of("TYPE"), slice_of("normal")};
    struct kv_reply *reply;

    ck_assert_ok(kv && other, &err);
    for (int i = 0; i < 3; i++) {
        reply = kv_command(kv, ping, 1, &err);
        ck_assert_ok(reply, &err);
        kv_reply_free(&reply);
    }
    reply = kv_command(other, kill, 4, &err);
    ck_assert_ok(reply && kv_reply_integer(reply) >= 1, &err);
    kv_reply_free(&reply);
    testing_pause();
    ck_assert_ptr_null(kv_command(kv, ping, 1, &err));
    ck_assert_str_eq(error_code_name(err.code), "kv_away");
    ck_assert_ptr_nonnull(strstr(err.text, "nothing was sent"));
    kv_close(&kv);
    kv_close(&other);
    conf_destroy(&conf);
    conf_destroy(&plain);
}
END_TEST

static struct broker *open_broker(const struct conf *conf)
{
    struct error err = {0};
    struct broker *broker = broker_open(conf, "test", &err);

    ck_assert_ok(broker, &err);
    return broker;
}

START_TEST(bulk_of_the_broker)
{
    struct conf *conf = configure(BROKER, &(struct want){0});
    struct broker *setup = open_broker(conf), *in = open_broker(conf), *out = open_broker(conf);
    const char *queue = testing_name("tls_bulk");
    struct broker_publication p = {.exchange = "", .routing_key = queue, .body = {check_calloc(1, BULK), BULK}};
    enum broker_outcome outcomes[4];
    struct broker_delivery got[4];
    enum broker_presence presence;
    struct error err = {0}, detail;
    size_t count = 0, more;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;

    ck_assert_ok(broker_declare_queue(setup, queue, NULL, 0, true, &presence, &detail, &err), &err);
    ck_assert_ok(broker_confirm_select(out, 4, &err) && broker_consume(in, queue, 4, "test", &err), &err);
    for (int i = 0; i < 4; i++) {
        p.message_id = slice_of(testing_name("m"));
        ck_assert_ok(broker_publish(out, &p, &outcomes[i], &err), &err);
    }
    while (count < 4) {
        ck_assert_ok(broker_take(in, got + count, 4 - count, 10000, &more, &err), &err);
        ck_assert_uint_gt(more, 0);
        count += more;
    }
    ck_assert_ok(broker_wait_confirms(out, 10000, &err), &err);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(outcomes[i], BROKER_OUTCOME_CONFIRMED);
        ck_assert(slice_equal(got[i].body, p.body));
        broker_delivery_release(&got[i]);
    }
    /* The watchdog reaches the socket of a library that dials by itself. */
    ck_assert_int_eq(getpeername(broker_fd(in), (struct sockaddr *)&peer, &size), 0);
    ck_assert_int_eq(ntohs(peer.sin_port), conf->broker_port);
    broker_guard_shutdown_all();
    ck_assert(!broker_pump(in, 5000, &err));
    free((void *)(uintptr_t)p.body.ptr);
    broker_close(&setup, false);
    broker_close(&in, false);
    broker_close(&out, false);
    conf_destroy(&conf);
}
END_TEST

/* Each of broker.hosts is held to the name that it is called by: the server has one of these, and not the other. */
START_TEST(hosts_of_the_broker)
{
    const char *port = testing_env("TLS_MQ_TLS_PORT");
    struct conf *conf = configure(BROKER, &(struct want){0});
    char hosts[128], name[64], what[64];
    struct error err = {0};
    struct broker *broker;

    snprintf(hosts, sizeof hosts, "127.1:%s, 127.0.0.1:%s", port, port);
    snprintf(name, sizeof name, "127.0.0.1:%s", port);
    conf->broker_hosts = hosts;
    for (int i = 0; i < 2; i++) {
        broker = open_broker(conf);
        ck_assert_str_eq(broker_peer(broker), name);
        broker_close(&broker, true);
    }
    snprintf(hosts, sizeof hosts, "127.1:%s", port);
    ck_assert(!reach(BROKER, conf, what, &err));
    ck_assert_str_eq(error_code_name(err.code), "broker_setup");
    ck_assert_msg(strstr(err.text, ", not for 127.1; set broker.hosts to a name it has"), "%s", err.text);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%s", testing_env("TLS_MQ_PORT"));
    ck_assert(!reach(BROKER, conf, what, &err));
    ck_assert_msg(strstr(err.text, "name its TLS port in broker.hosts"), "%s", err.text);
    conf_destroy(&conf);
}
END_TEST

/* The certificate is for "orderd", which is a user there; the user of the configuration is not sent. */
START_TEST(login_by_certificate)
{
    assert_reached(BROKER, &(struct want){.auth = "external", .user = "nobody"}, "TLSv1.");
}
END_TEST

/* Nobody there is called "localhost", as the certificate of the server is. */
START_TEST(certificate_of_nobody)
{
    struct conf *conf =
        configure(BROKER, &(struct want){.auth = "external", .cert = "server.pem", .key = "server.key"});
    struct error err = {0};
    char what[64];

    ck_assert(!reach(BROKER, conf, what, &err));
    ck_assert_str_eq(error_code_name(err.code), "broker_setup");
    ck_assert_msg(strstr(err.text, "refused the login by broker.tls_cert_file to vhost \"/\" with 403: ACCESS_REFUSED"),
                  "%s", err.text);
    conf_destroy(&conf);
}
END_TEST

/* ---- what goes wrong on our side, or is another server ---- */

START_TEST(another_authority)
{
    assert_refused(
        (enum server)_i, &(struct want){.ca = "stranger.pem"}, servers[_i].setup,
        "its certificate is not signed by {group}.tls_ca_file (self-signed certificate in certificate chain); "
        "name the file of the authority that signed it");
}
END_TEST

START_TEST(plain_server)
{
    assert_refused(
        (enum server)_i, &(struct want){.port = testing_env(servers[_i].plain_port), .cert = "", .timeout = "1s"},
        servers[_i].setup,
        _i == MYSQL ? "it does not speak TLS; switch TLS on there (at the same port), or {group}.tls off here"
                    : "it does not speak TLS; name its TLS port in {group}.port, switch TLS on there, or "
                      "{group}.tls off here");
}
END_TEST

START_TEST(no_certificate_of_ours)
{
    if (_i == MYSQL) { /* the server asks everybody, and an account may insist */
        struct conf *conf = configure(MYSQL, &(struct want){.cert = ""});
        struct error err = {0};
        char what[64];

        ck_assert(!reach(MYSQL, conf, what, &err));
        ck_assert_str_eq(error_code_name(err.code), "db_setup");
        ck_assert_ptr_nonnull(strstr(err.text,
                                     "whether the server or the account wants TLS or a certificate (mysql.tls, "
                                     "mysql.tls_cert_file)"));
        conf_destroy(&conf);
        return;
    }
    assert_refused(
        (enum server)_i, &(struct want){.cert = ""}, servers[_i].setup,
        "it wants a certificate of its clients; name ours in {group}.tls_cert_file and {group}.tls_key_file");
}
END_TEST

START_TEST(certificate_of_a_stranger)
{
    assert_refused(
        (enum server)_i, &(struct want){.cert = "stranger-client.pem", .key = "stranger-client.key"}, servers[_i].setup,
        "it does not accept {group}.tls_cert_file (unknown CA); name one that is valid now and signed by whom "
        "the server trusts");
}
END_TEST

static const struct {
    struct want want;
    const char *rest;
} bad_files[] = {
    {{.key = "stranger-client.key"}, "{group}.tls_key_file \""},
    {{.key = "locked.key"}, "{group}.tls_key_file \""}, /* and nobody is asked for a passphrase */
    {{.cert = "client.key"}, "{group}.tls_cert_file \""},
    {{.ca = "client.key"}, "{group}.tls_ca_file \""},
};

START_TEST(file_of_no_use)
{
    enum server server = (enum server)(_i % SERVERS);
    char command[900];

    snprintf(command, sizeof command, "openssl pkey -aes128 -passout pass:secret -in %s -out %s", file("client.key"),
             file("locked.key"));
    ck_assert_int_eq(system(command), 0);
    assert_refused(server, &bad_files[_i / SERVERS].want, servers[server].setup, bad_files[_i / SERVERS].rest);
}
END_TEST

/* In plain text to a server that only speaks TLS. */
START_TEST(plain_client)
{
    struct conf *conf = configure((enum server)_i, &(struct want){.tls = "off", .cert = ""});
    struct error err = {0};
    char what[64], hint[64];

    snprintf(hint, sizeof hint, _i == MYSQL ? "(%s.tls, " : "; if that is its TLS port, set %s.tls to \"verify\"",
             servers[_i].group);
    ck_assert(!reach((enum server)_i, conf, what, &err));
    ck_assert_msg(strstr(err.text, hint) != NULL, "%s", err.text);
    conf_destroy(&conf);
}
END_TEST

/* The files are read at each connect: who renews one need not restart anything. */
START_TEST(renewed)
{
    char cert[300], key[300], command[1200];
    struct conf *conf;
    struct error err = {0};
    char what[64];

    snprintf(cert, sizeof cert, "%s/own.pem", testing_dir());
    snprintf(key, sizeof key, "%s/own.key", testing_dir());
    snprintf(command, sizeof command, "cp %s %s && cp %s %s", file("stranger-client.pem"), cert,
             file("stranger-client.key"), key);
    ck_assert_int_eq(system(command), 0);
    conf = configure((enum server)_i, &(struct want){.cert = cert, .key = key});
    ck_assert(!reach((enum server)_i, conf, what, &err));
    snprintf(command, sizeof command, "cp %s %s && cp %s %s", file("client.pem"), cert, file("client.key"), key);
    ck_assert_int_eq(system(command), 0);
    ck_assert_ok(reach((enum server)_i, conf, what, &err), &err);
    conf_destroy(&conf);
}
END_TEST

/* ---- what goes wrong on the server ---- */

/* MySQL stays with the one it has: it takes none that has expired, and serves such a one only if that happens later. */
static bool is_taken(enum server server, const char *name)
{
    return !(server == MYSQL && testing_mysql() && strcmp(name, "expired") == 0);
}

/* Gives all three another certificate, without a restart of any. */
static void exchange(const char *name)
{
    const char *reload = testing_mysql() ? "ALTER INSTANCE RELOAD TLS" : "FLUSH SSL";
    char command[2000];

    snprintf(command, sizeof command,
             "cp %s.pem %s && cp %s.key %s && %s -e '%s' && %s -q eval 'ssl:clear_pem_cache().' >/dev/null && "
             "redis-cli -p %s CONFIG SET tls-cert-file %s >/dev/null",
             file(name), file("in-use.pem"), file(name), file("in-use.key"), testing_env("TLS_MARIADB"),
             is_taken(MYSQL, name) ? reload : "DO 0", testing_env("TLS_RABBITMQCTL"), testing_env("TLS_KV_PORT"),
             file("in-use.pem"));
    ck_assert_msg(system(command) == 0, "%s", command);
}

/* After a run, or a test, that ended before it had put back what it exchanged. */
static void begin(void)
{
    exchange("server");
}

static void setup(void)
{
    char command[700];

    snprintf(command, sizeof command, "cmp -s %s %s", file("server.pem"), file("in-use.pem"));
    if (system(command) != 0)
        exchange("server");
}

/* Each server of a list has to have the name that it has in the list. */
static void names_of_a_list(bool good)
{
    char hosts[128], what[64];
    const char *port = testing_env("TLS_DB_PORT");
    struct error err = {0};
    struct conf *conf;

    snprintf(hosts, sizeof hosts, "127.0.0.1:%s, localhost:%s", port, port);
    conf = configure(MYSQL, &(struct want){.host = "nowhere.invalid", .hosts = hosts});
    ck_assert_msg(reach(MYSQL, conf, what, &err) == good, "%s", err.text);
    if (!good) {
        ck_assert_msg(strstr(err.text, "not for 127.0.0.1; set mysql.hosts to a name it has"), "%s", err.text);
        ck_assert_msg(strstr(err.text, "not for localhost; set mysql.hosts to a name it has"), "%s", err.text);
        ck_assert_int_eq(err.code, ERROR_DB_SETUP);
    }
    conf_destroy(&conf);
}

START_TEST(wrong_certificate)
{
    names_of_a_list(true);
    exchange("misnamed");
    names_of_a_list(false);
    for (int i = 0; i < SERVERS; i++)
        assert_refused(
            (enum server)i, &(struct want){0}, servers[i].setup,
            "its certificate is for elsewhere.invalid, not for 127.0.0.1; set {group}.host to a name it has, "
            "or have it made for 127.0.0.1");
    exchange("expired");
    for (int i = 0; i < SERVERS; i++) {
        if (is_taken((enum server)i, "expired"))
            assert_refused((enum server)i, &(struct want){0}, servers[i].setup,
                           "its certificate has expired (localhost, valid from 20");
    }
    assert_reached(MYSQL, &(struct want){.tls = "required"}, "TLS_"); /* whoever it is */
    exchange("server");
    for (int i = 0; i < SERVERS; i++)
        assert_reached((enum server)i, &(struct want){0}, "TLS_");
}
END_TEST

/* ---- who says nothing ---- */

struct mute {
    int listener;
    char port[16];
    const char *greeting; /* said first */
    size_t len;
    bool resets; /* what answers it */
    pthread_t thread;
};

/* Once the peer has said something. */
static void reset(int fd)
{
    struct linger now = {.l_onoff = 1};
    char said[512];

    (void)recv(fd, said, sizeof said, 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    close(fd);
}

static void *greet_and_wait(void *arg)
{
    struct mute *m = arg;
    int fds[16];
    size_t count = 0;

    while (count < 16 && (fds[count] = accept(m->listener, NULL, NULL)) >= 0) {
        if (m->len)
            (void)send(fds[count], m->greeting, m->len, MSG_NOSIGNAL);
        if (m->resets)
            reset(fds[count]);
        else
            count++;
    }
    while (count)
        close(fds[--count]);
    return NULL;
}

static void mute_begin(struct mute *m)
{
    int port = testing_free_port();
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    snprintf(m->port, sizeof m->port, "%d", port);
    m->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(bind(m->listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(m->listener, 16) == 0);
    ck_assert_int_eq(pthread_create(&m->thread, NULL, greet_and_wait, m), 0);
}

static void mute_end(struct mute *m)
{
    shutdown(m->listener, SHUT_RDWR);
    pthread_join(m->thread, NULL);
    close(m->listener);
}

/* As MariaDB greets: version 10, its name, a connection, salt, and capabilities that promise TLS. */
static const char mysql_greeting[] = "\x53\0\0\0\x0a"
                                     "10.11.0-MariaDB\0"
                                     "\1\0\0\0"
                                     "12345678\0"
                                     "\xfe\xff\x2d\2\0\xff\x81\x15\0\0\0\0\0\0\0\0\0\0"
                                     "123456789012\0"
                                     "mysql_native_password";

/* The handshake of TLS ends, too, where nobody answers it. */
START_TEST(silent)
{
    enum server server = (enum server)_i;
    struct mute mute = {.greeting = mysql_greeting, .len = server == MYSQL ? sizeof mysql_greeting : 0};
    int64_t began;

    ck_assert_uint_eq(sizeof mysql_greeting, 4 + 0x53);
    mute_begin(&mute);
    began = testing_now_ms();
    assert_refused(server, &(struct want){.port = mute.port, .timeout = servers[server].timeout}, servers[server].away,
                   server == MYSQL ? "it does not go on with the TLS handshake within 1000 ms; see"
                                   : "it does not go on with the TLS handshake within 500 ms; see");
    testing_within(began, server == MYSQL ? 4000 : 2000);
    mute_end(&mute);
}
END_TEST

/* A server that dies in the middle of the handshake is away, and not taken for one that is set up wrongly. */
START_TEST(cut_off_in_the_handshake)
{
    struct mute mute = {.greeting = mysql_greeting, .len = sizeof mysql_greeting, .resets = true};
    struct error err = {0};
    struct conf *conf;
    char what[64];

    mute_begin(&mute);
    conf = configure(MYSQL, &(struct want){.port = mute.port, .timeout = servers[MYSQL].timeout});
    ck_assert(!reach(MYSQL, conf, what, &err));
    ck_assert_msg(err.code == ERROR_DB_AWAY, "%s: %s", error_code_name(err.code), err.text);
    conf_destroy(&conf);
    mute_end(&mute);
}
END_TEST

/* ---- the four words of mysql.tls ---- */

static const struct {
    const char *tls;
    bool plain_server;
    const char *words; /* NULL: refused, as it is plain */
} modes[] = {
    {"off", false, "plain text"}, {"preferred", false, "TLS_"}, {"required", false, "TLS_"},
    {"verify", false, "TLS_"},    {"off", true, "plain text"},  {"preferred", true, "plain text"},
    {"required", true, NULL},     {"verify", true, NULL},
};

static const char *new_account(const char *administer, const char *password_file)
{
    const char *user = testing_name("orderd_tls");
    char command[900];

    snprintf(
        command, sizeof command,
        "%s -e \"CREATE USER %s@'127.0.0.1' IDENTIFIED BY '$(cat %s)'; GRANT SELECT ON orderd.* TO %s@'127.0.0.1'\"",
        testing_env(administer), user, testing_env(password_file), user);
    ck_assert_msg(system(command) == 0, "%s", command);
    return user;
}

START_TEST(mode_of_mysql)
{
    bool plain = modes[_i].plain_server;
    struct want want = {.tls = modes[_i].tls, .cert = ""};

    want.port = testing_env(plain ? "ORDERD_DB_PORT" : "TLS_DB_PORT");
    want.user = new_account(plain ? "ORDERD_MARIADB" : "TLS_MARIADB", "TLS_DB_PASSWORD_FILE");
    if (modes[_i].words)
        assert_reached(MYSQL, &want, modes[_i].words);
    else
        assert_refused(MYSQL, &want, ERROR_DB_SETUP, "it does not speak TLS; ");
}
END_TEST

START_TEST(server_that_insists)
{
    const char *user = new_account("TLS_MARIADB", "TLS_DB_PASSWORD_FILE");
    struct conf *conf = configure(MYSQL, &(struct want){.tls = "off", .cert = "", .user = user});
    struct error err = {0};
    char what[64], command[400];
    bool ok;

    snprintf(command, sizeof command, "%s -e 'SET GLOBAL require_secure_transport=1'", testing_env("TLS_MARIADB"));
    ck_assert_int_eq(system(command), 0);
    ok = reach(MYSQL, conf, what, &err);
    snprintf(command, sizeof command, "%s -e 'SET GLOBAL require_secure_transport=0'", testing_env("TLS_MARIADB"));
    ck_assert_int_eq(system(command), 0);
    ck_assert(!ok);
    ck_assert_str_eq(error_code_name(err.code), "db_setup");
    ck_assert_msg(strstr(err.text, "mysql.tls") != NULL, "%s", err.text);
    conf_destroy(&conf);
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

int main(void)
{
    Suite *s = suite_create("tls");
    TCase *t = tcase_create("tls");

    tcase_set_timeout(t, 60);
    tcase_add_unchecked_fixture(t, begin, NULL);
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_loop_test(t, encrypted, 0, SERVERS);
    tcase_add_test(t, bulk_of_redis);
    tcase_add_test(t, bulk_of_the_broker);
    tcase_add_test(t, hosts_of_the_broker);
    tcase_add_test(t, login_by_certificate);
    tcase_add_test(t, certificate_of_nobody);
    tcase_add_test(t, end_of_an_idle_connection_of_redis);
    tcase_add_loop_test(t, another_authority, 0, SERVERS);
    tcase_add_loop_test(t, plain_server, 0, SERVERS);
    tcase_add_loop_test(t, no_certificate_of_ours, 0, SERVERS);
    tcase_add_loop_test(t, certificate_of_a_stranger, 0, SERVERS);
    tcase_add_loop_test(t, file_of_no_use, 0, SERVERS * COUNT(bad_files));
    tcase_add_loop_test(t, plain_client, 0, SERVERS);
    tcase_add_loop_test(t, renewed, 0, SERVERS);
    tcase_add_test(t, wrong_certificate);
    tcase_add_loop_test(t, silent, 0, SERVERS);
    tcase_add_test(t, cut_off_in_the_handshake);
    tcase_add_loop_test(t, mode_of_mysql, 0, COUNT(modes));
    tcase_add_test(t, server_that_insists);
    suite_add_tcase(s, t);
    return testing_main(s);
}
