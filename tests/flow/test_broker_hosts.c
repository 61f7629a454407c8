/* broker.hosts: one broker under several names, hosts where nobody listens, and such as take a connection and say
 * nothing. */
#include "testing.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../src/client/broker/hosts.h"
#include "orderd/broker.h"

static struct conf *conf;
static int port;
static char hosts[512];

static void setup(void)
{
    conf = testing_conf(NULL);
    conf->broker_connect_timeout = 1000;
    port = (int)conf->broker_port;
    conf->broker_host = "host.that.is.not.used.invalid";
    conf->broker_hosts = hosts;
}

static void teardown(void)
{
    conf_destroy(&conf);
}

static struct broker *open_one(void)
{
    struct error err = {0};
    struct broker *b = broker_open(conf, "test hosts", &err);

    ck_assert_ok(b != NULL, &err);
    return b;
}

static struct error refused(void)
{
    struct error err = {0};

    ck_assert_ptr_null(broker_open(conf, "test hosts", &err));
    return err;
}

static bool is_at(const struct broker *b, const char *name)
{
    size_t len = strlen(name);

    return strncmp(broker_peer(b), name, len) == 0 && broker_peer(b)[len] == ':';
}

/* The kernel takes connections, and nobody ever answers. */
struct silent {
    int fd, port;
};

static struct silent listen_silently(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    struct silent s = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};

    ck_assert_int_eq(bind(s.fd, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(listen(s.fd, 32), 0);
    ck_assert_int_eq(getsockname(s.fd, (struct sockaddr *)&at, &size), 0);
    s.port = ntohs(at.sin_port);
    return s;
}

static unsigned callers(const struct silent *s)
{
    unsigned n = 0;
    int fd;

    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        close(fd);
        n++;
    }
    return n;
}

/* ---- connections spread ---- */

START_TEST(each_call_begins_with_another_host)
{
    struct broker *b[6];
    unsigned first = 0;

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d, 127.1:%d", port, port);
    for (int i = 0; i < 6; i++) {
        b[i] = open_one();
        first += is_at(b[i], "127.0.0.1");
        ck_assert(is_at(b[i], "127.0.0.1") || is_at(b[i], "127.1"));
    }
    ck_assert_uint_eq(first, 3);
    for (int i = 0; i < 6; i++)
        broker_close(&b[i], true);
}
END_TEST

START_TEST(a_list_of_one)
{
    struct broker *b;
    struct error err;

    snprintf(hosts, sizeof hosts, "127.1:%d", port);
    b = open_one();
    ck_assert(is_at(b, "127.1"));
    broker_close(&b, true);
    snprintf(hosts, sizeof hosts, "127.1:%d", testing_free_port());
    err = refused();
    ck_assert_msg(strncmp(err.text, "cannot connect to broker 127.1:", 31) == 0, "%s", err.text);
}
END_TEST

START_TEST(no_list)
{
    struct broker *b;

    hosts[0] = '\0';
    conf->broker_host = "127.0.0.1";
    b = open_one();
    ck_assert(is_at(b, "127.0.0.1"));
    broker_close(&b, true);
}
END_TEST

/* ---- hosts that are dead ---- */

START_TEST(where_nobody_listens)
{
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d nobody.invalid:%d 127.1:%d", testing_free_port(), port, port);
    for (int i = 0; i < 4; i++) {
        struct broker *b = open_one();

        ck_assert_msg(is_at(b, "127.1"), "%s", broker_peer(b));
        broker_close(&b, true);
    }
}
END_TEST

START_TEST(silence_is_paid_for_once)
{
    struct silent s = listen_silently();

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d 127.1:%d", s.port, port);
    for (int i = 0; i < 6; i++) {
        struct broker *b = open_one();

        ck_assert_msg(is_at(b, "127.1"), "%s", broker_peer(b));
        broker_close(&b, true);
    }
    ck_assert_uint_eq(callers(&s), 1);
    close(s.fd);
}
END_TEST

/* Whoever else was on it is about to connect, too. */
START_TEST(a_lost_connection_counts)
{
    struct broker *lost, *b = NULL;
    struct error err = {0};
    char name[64];

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d, 127.1:%d", port, port);
    lost = open_one();
    snprintf(name, sizeof name, "%s", broker_peer(lost));
    ck_assert_int_eq(shutdown(broker_fd(lost), SHUT_RDWR), 0);
    ck_assert(!broker_pump(lost, 1000, &err));
    broker_close(&lost, false);
    for (int i = 0; i < 4; i++) {
        b = open_one();
        ck_assert_str_ne(broker_peer(b), name);
        broker_close(&b, true);
    }
}
END_TEST

/* A channel that the broker closes says nothing against its host. */
START_TEST(a_closed_channel_does_not)
{
    struct error err = {0};
    unsigned here = 0;

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d, 127.1:%d", port, port);
    for (int i = 0; i < 4; i++) {
        struct broker *b = open_one();

        here += is_at(b, "127.0.0.1");
        ck_assert(!broker_consume(b, testing_name("no_queue"), 1, "tag", &err));
        ck_assert_int_eq(err.code, ERROR_BROKER_SETUP);
        broker_close(&b, false);
    }
    ck_assert_uint_eq(here, 2);
}
END_TEST

/* ---- none will do ---- */

START_TEST(each_has_its_reason)
{
    int closed = testing_free_port();
    char one[64];
    struct error err;

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d nobody.invalid:1", closed);
    err = refused();
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
    ck_assert_msg(strncmp(err.text, "none of broker.hosts can be used: ", 34) == 0, "%s", err.text);
    snprintf(one, sizeof one, "cannot connect to broker 127.0.0.1:%d ", closed);
    ck_assert_msg(strstr(err.text, one) && strstr(err.text, "Connection refused"), "%s", err.text);
    ck_assert_msg(strstr(err.text, "cannot resolve broker host \"nobody.invalid\""), "%s", err.text);
}
END_TEST

START_TEST(of_sixteen_each_has_some_words)
{
    char one[64];
    struct error err;

    hosts[0] = '\0';
    for (int i = 1; i <= HOSTS_MAX; i++)
        snprintf(hosts + strlen(hosts), sizeof hosts - strlen(hosts), "127.0.0.%d:1 ", i);
    err = refused();
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
    ck_assert_uint_lt(strlen(err.text), ERROR_TEXT_MAX - 1);
    ck_assert_msg(strstr(err.text, "...; "), "%s", err.text);
    snprintf(one, sizeof one, "not tried");
    ck_assert_msg(!strstr(err.text, one), "%s", err.text);
}
END_TEST

/* An operator is called where every host needs one; where one is only away, it may yet let us in. */
START_TEST(set_up_wrongly_on_all)
{
    struct error err;

    conf->broker_password_file = "wrong";
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d 127.1:%d", port, port);
    err = refused();
    ck_assert_int_eq(err.code, ERROR_BROKER_SETUP);
    ck_assert_msg(strstr(err.text, "refused the login"), "%s", err.text);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d 127.1:%d", port, testing_free_port());
    err = refused();
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
}
END_TEST

/* Two silent hosts take the time of a round; the next one begins where it ended. */
START_TEST(a_round_has_an_end)
{
    struct silent s[4];
    struct error err;
    unsigned asked = 0, calls[4] = {0};

    hosts[0] = '\0';
    conf->broker_connect_timeout = 200;
    for (int i = 0; i < 4; i++) {
        s[i] = listen_silently();
        snprintf(hosts + strlen(hosts), sizeof hosts - strlen(hosts), "127.0.0.1:%d ", s[i].port);
    }
    err = refused();
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
    ck_assert_msg(strstr(err.text, " not tried yet"), "%s", err.text); /* 2; on a busy machine 3 */
    for (int round = 1; asked < 4 && round < 4; round++) {
        (void)refused();
        for (int i = 0; i < 4; i++) {
            unsigned new_ones = callers(&s[i]);

            calls[i] += new_ones;
            asked += calls[i] == new_ones && new_ones > 0;
        }
    }
    ck_assert_uint_eq(asked, 4);
    for (int i = 0; i < 4; i++)
        close(s[i].fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker_hosts");
    TCase *tc = tcase_create("hosts");

    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, each_call_begins_with_another_host);
    tcase_add_test(tc, a_list_of_one);
    tcase_add_test(tc, no_list);
    tcase_add_test(tc, where_nobody_listens);
    tcase_add_test(tc, silence_is_paid_for_once);
    tcase_add_test(tc, a_lost_connection_counts);
    tcase_add_test(tc, a_closed_channel_does_not);
    tcase_add_test(tc, each_has_its_reason);
    tcase_add_test(tc, of_sixteen_each_has_some_words);
    tcase_add_test(tc, set_up_wrongly_on_all);
    tcase_add_test(tc, a_round_has_an_end);
    return testing_main(suite);
}
