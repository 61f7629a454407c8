/* From a name to a connection that is logged in: hosts, their addresses, and why none would do. */
#include "broker_private.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>

#include "hosts.h"
#include "orderd/check.h"
#include "orderd/clock.h"

static struct broker *create(const struct conf *conf, const struct conf_node *host, const char *name)
{
    struct broker *b = check_calloc(1, sizeof *b);

    snprintf(b->name, sizeof b->name, "%s", name);
    snprintf(b->where, sizeof b->where, "%s:%d", host->host, host->port);
    b->host = *host;
    b->listed = conf_node_count(conf->broker_hosts) > 0;
    b->several = conf_node_count(conf->broker_hosts) > 1;
    b->heartbeat_ms = (int)conf->broker_heartbeat;
    b->call_timeout_ms = (int)conf->broker_call_timeout;
    b->guard.fd = -1;
    b->guard.name = b->name;
    b->library = amqp_new_connection();
    CHECK(b->library != NULL);
    return b;
}

bool broker_watch_socket(struct broker *b, int fd, struct error *err)
{
    if (!guard_add(&b->guard, fd))
        return error_set(err, ERROR_BROKER_AWAY, "no file descriptor left for broker %s: %s", b->where,
                         strerror(errno));
    return true;
}

/* The library owns the socket from here on. */
static bool connect_plain(struct broker *b, const struct addrinfo *to, const struct conf *conf, struct error *err)
{
    int fd = broker_dial(to, (int)conf->broker_connect_timeout, b->where, err);
    amqp_socket_t *socket;

    if (fd < 0)
        return false;
    socket = amqp_tcp_socket_new(b->library);
    CHECK(socket != NULL);
    amqp_tcp_socket_set_sockfd(socket, fd);
    return broker_watch_socket(b, fd, err);
}

static struct broker *open_address(const struct addrinfo *to, const struct conf *conf, const struct conf_node *host,
                                   const char *name, struct error *err)
{
    struct broker *b = create(conf, host, name);
    bool secure = conf->broker_tls != CONF_TLS_OFF;

    if (!(secure ? broker_connect_secure(b, to, conf, err) : connect_plain(b, to, conf, err)) ||
        !broker_login(b, conf, err) || !broker_open_channel(b, err))
        broker_close(&b, false);
    return b;
}

/* The library would resolve by itself, but gives up at the first address that is silent (pitfalls A4). */
struct broker *broker_open_at(const struct conf *conf, const struct conf_node *host, const char *name,
                              struct error *err)
{
    struct addrinfo want = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP}, *all, *to;
    struct broker *b = NULL;
    char port[16];
    int number;

    snprintf(port, sizeof port, "%d", host->port);
    number = getaddrinfo(host->host, port, &want, &all);
    if (number != 0) {
        error_set(err, ERROR_BROKER_AWAY, "cannot resolve broker host \"%s\": %s", host->host, gai_strerror(number));
        return NULL;
    }
    for (to = all; to && !b; to = to->ai_next) {
        b = open_address(to, conf, host, name, err);
        if (!b && err->code != ERROR_BROKER_AWAY)
            break;
    }
    freeaddrinfo(all);
    return b;
}

/* ---- of several the first that will do ---- */

struct round {
    const struct conf *conf;
    struct hosts hosts;
    unsigned tried;
    bool away; /* waiting may help with one of them */
    struct strbuf reasons;
};

/* Room for the reasons of all in one sentence. */
static void note(struct round *r, const struct error *why)
{
    size_t room = (ERROR_TEXT_MAX - 64) / r->hosts.count - strlen("; ..."), len = strlen(why->text);

    strbuf_add_str(&r->reasons, r->tried > 0 ? "; " : "");
    strbuf_add(&r->reasons, why->text, len < room ? len : room);
    strbuf_add_str(&r->reasons, len < room ? "" : "...");
    r->away = r->away || why->code == ERROR_BROKER_AWAY;
    r->tried++;
}

static void explain(struct round *r, struct error *err)
{
    unsigned left = r->hosts.count - r->tried;

    if (left > 0)
        strbuf_addf(&r->reasons, "; %u not tried yet", left);
    error_set(err, r->away || left > 0 ? ERROR_BROKER_AWAY : ERROR_BROKER_SETUP, "none of broker.hosts can be used: %s",
              r->reasons.data);
}

static struct broker *try_all(struct round *r, const char *name, struct error *err)
{
    int64_t until = clock_mono_ms() + 2 * r->conf->broker_connect_timeout;

    do {
        const struct conf_node *host = &r->hosts.list[r->tried];
        struct error why = {0};
        struct broker *b = broker_open_at(r->conf, host, name, &why);

        if (b) {
            hosts_reached(host);
            return b;
        }
        hosts_failed(host, &why);
        note(r, &why);
        /* Half a time-out early, so that two silent hosts always end it, whichever way their clocks are rounded. */
    } while (r->tried < r->hosts.count && clock_mono_ms() + r->conf->broker_connect_timeout / 2 < until);
    explain(r, err);
    return NULL;
}

struct broker *broker_open(const struct conf *conf, const char *name, struct error *err)
{
    struct round r = {.conf = conf, .reasons = STRBUF_INIT};
    struct broker *b;

    hosts_take(conf, &r.hosts);
    if (r.hosts.count == 1)
        return broker_open_at(conf, &r.hosts.list[0], name, err);
    b = try_all(&r, name, err);
    strbuf_release(&r.reasons);
    return b;
}
