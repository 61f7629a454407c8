/* amqps. The library shakes hands, within its own time-out and on a socket of its own; who the server has to be is
 * OpenSSL's to check (tls.h), since the library's check of names does nothing from 0.12 to 0.13 and knows no addresses
 * (pitfalls A10). It is given one address at a time, for the reason that plain connections are dialled by ourselves. */
#include "broker_private.h"

#include <netdb.h>
#include <stdio.h>
#include <unistd.h>

#ifdef ORDERD_BROKER_TLS

static void begin(struct broker *b, const struct conf *conf)
{
    snprintf(b->secure_name, sizeof b->secure_name, "broker %s", b->where);
    b->tls.peer = (struct tls_peer){.group = "broker",
                                    .name = b->secure_name,
                                    .host = b->host.host,
                                    .ca = conf->broker_tls_ca_file,
                                    .cert = conf->broker_tls_cert_file,
                                    .key = conf->broker_tls_key_file,
                                    .named = b->listed ? "broker.hosts" : NULL,
                                    .ported = b->listed ? "broker.hosts" : NULL,
                                    .away = ERROR_BROKER_AWAY,
                                    .setup = ERROR_BROKER_SETUP};
}

/* TCP itself is to blame where it fails again; the library does not tell it from TLS. */
static bool blame(struct broker *b, const struct addrinfo *to, int timeout_ms, int status, struct error *err)
{
    char limit[32];
    int fd;

    tls_look(&b->tls, status != AMQP_STATUS_TIMEOUT);
    if (b->tls.fault == TLS_FAULT_NONE || b->tls.fault == TLS_FAULT_ENDED) {
        fd = broker_dial(to, timeout_ms, b->where, err);
        if (fd < 0)
            return false;
        close(fd);
    }
    snprintf(limit, sizeof limit, "%d ms", timeout_ms);
    tls_note(&b->tls, status == AMQP_STATUS_TIMEOUT ? TLS_FAULT_SILENT : TLS_FAULT_FAILED,
             status == AMQP_STATUS_TIMEOUT ? limit : amqp_error_string2(status));
    return tls_tell(&b->tls, err);
}

bool broker_connect_secure(struct broker *b, const void *addrinfo, const struct conf *conf, struct error *err)
{
    const struct addrinfo *to = addrinfo;
    struct timeval limit = {conf->broker_connect_timeout / 1000, conf->broker_connect_timeout % 1000 * 1000};
    char address[NI_MAXHOST];
    amqp_socket_t *socket;
    int status;

    begin(b, conf);
    b->at = to;
    status = getnameinfo(to->ai_addr, to->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST);
    if (status != 0)
        return error_set(err, ERROR_BROKER_AWAY, "broker %s: %s", b->where, gai_strerror(status));
    socket = amqp_ssl_socket_new(b->library);
    if (!socket)
        return error_set(err, ERROR_BROKER_AWAY, "broker %s: OpenSSL cannot be set up", b->where);
    amqp_ssl_socket_set_verify_peer(socket, 1);
    amqp_ssl_socket_set_verify_hostname(socket, 0);
    if (!tls_prepare(amqp_ssl_socket_get_context(socket), &b->tls, err))
        return false;
    status = amqp_socket_open_noblock(socket, address, b->host.port, &limit);
    if (status != AMQP_STATUS_OK)
        return blame(b, to, (int)conf->broker_connect_timeout, status, err);
    return broker_watch_socket(b, amqp_get_sockfd(b->library), err);
}

/* What the server said may have been lost in the end of the connection, since the library speaks first. */
static void ask_again(struct broker *b, int timeout_ms)
{
    struct tls_session again = {.peer = b->tls.peer};
    struct error ignored;
    int fd = broker_dial(b->at, timeout_ms, b->where, &ignored);

    if (fd < 0)
        return;
    tls_probe(&again, fd, timeout_ms);
    close(fd);
    if (again.fault != TLS_FAULT_NONE)
        b->tls = again;
}

bool broker_secure_ended(struct broker *b, int timeout_ms, struct error *err)
{
    if (!b->tls.peer.name)
        return false;
    tls_look(&b->tls, true);
    if (b->tls.fault == TLS_FAULT_NONE || b->tls.fault == TLS_FAULT_ASKED)
        ask_again(b, timeout_ms);
    if (b->tls.fault != TLS_FAULT_NONE)
        tls_tell(&b->tls, err);
    return b->tls.fault != TLS_FAULT_NONE;
}

#else

bool broker_connect_secure(struct broker *b, const void *addrinfo, const struct conf *conf, struct error *err)
{
    (void)addrinfo, (void)conf;
    return error_set(err, ERROR_INTERNAL, "broker %s: this orderd was built without amqps", b->where);
}

bool broker_secure_ended(struct broker *b, int timeout_ms, struct error *err)
{
    (void)b, (void)timeout_ms, (void)err;
    return false;
}

#endif
