/* The bytes of a connection, in plain text or through TLS; which it is only this file knows. hiredis' own TLS is not
 * used: it needs hiredis 1.0, owns the socket, and asks nobody for his name (pitfalls, fact 23). */
#include "kv_private.h"

#include <errno.h>
#include <sys/socket.h>

#ifdef ORDERD_OPENSSL

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/tls.h"

struct kv_tls {
    struct tls_session session;
    SSL *ssl;
    int fd;
    char name[340], host[256]; /* the session's: where it was found may move, or end, before the connection does */
};

/* Where an address is mended, and a port that speaks no TLS. */
static const struct {
    const char *named, *ported;
} places[] = {
    [KV_NAMED_HOST] = {"redis.host", "redis.port"},
    [KV_NAMED_NODES] = {"redis.nodes", "redis.nodes"},
    [KV_NAMED_SENTINELS] = {"what the Sentinels call it (announce-hostnames)",
                            "what the Sentinels call it (tls-replication)"},
    [KV_NAMED_CLUSTER] = {"what the cluster calls it (cluster-announce-hostname)",
                          "what the cluster calls it (tls-cluster)"},
};

/* ---- OpenSSL's way to the socket: without SIGPIPE, which its own cannot do without ---- */

static BIO_METHOD *method;

static int bio_done(BIO *bio, ssize_t n, int retry)
{
    BIO_clear_retry_flags(bio);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    return (int)n;
}

static int bio_write(BIO *bio, const char *bytes, int len)
{
    const struct kv_tls *tls = BIO_get_data(bio);

    return bio_done(bio, send(tls->fd, bytes, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT), BIO_FLAGS_WRITE);
}

static int bio_read(BIO *bio, char *bytes, int len)
{
    const struct kv_tls *tls = BIO_get_data(bio);

    return bio_done(bio, recv(tls->fd, bytes, (size_t)len, MSG_DONTWAIT), BIO_FLAGS_READ);
}

static long bio_control(BIO *bio, int command, long number, void *arg)
{
    const struct kv_tls *tls = BIO_get_data(bio);

    (void)number;
    if (command == BIO_C_GET_FD) {
        if (arg)
            *(int *)arg = tls->fd;
        return tls->fd;
    }
    return command == BIO_CTRL_FLUSH;
}

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "orderd");
    CHECK(method && BIO_meth_set_write(method, bio_write) && BIO_meth_set_read(method, bio_read) &&
          BIO_meth_set_ctrl(method, bio_control));
}

static BIO *new_bio(struct kv_tls *tls)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    BIO *bio;

    CHECK_ZERO(pthread_once(&once, make_method));
    bio = BIO_new(method);
    CHECK(bio != NULL);
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    return bio;
}

/* ---- beginning and end ---- */

static struct kv_tls *create(const struct kv *kv, const struct kv_site *site)
{
    struct kv_tls *tls = check_calloc(1, sizeof *tls);

    tls->fd = kv->fd;
    snprintf(tls->name, sizeof tls->name, "Redis %s", kv->peer);
    snprintf(tls->host, sizeof tls->host, "%s", site->host);
    tls->session.peer = (struct tls_peer){.group = "redis",
                                          .name = tls->name,
                                          .host = tls->host,
                                          .ca = site->tls->redis_tls_ca_file,
                                          .cert = site->tls->redis_tls_cert_file,
                                          .key = site->tls->redis_tls_key_file,
                                          .named = places[site->named].named,
                                          .ported = places[site->named].ported,
                                          .away = ERROR_KV_AWAY,
                                          .setup = ERROR_KV_SETUP};
    return tls;
}

static bool prepare(struct kv_tls *tls, struct error *err)
{
    SSL_CTX *ctx = tls_context(&tls->session, err);
    BIO *bio;

    if (!ctx)
        return false;
    tls->ssl = SSL_new(ctx);
    SSL_CTX_free(ctx); /* the SSL has its own hold of it */
    CHECK(tls->ssl != NULL);
    bio = new_bio(tls);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_mode(tls->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return true;
}

/* A server without TLS takes ours for the beginning of a request whose end it goes on waiting for. */
static bool speaks_plain(const struct kv_site *site)
{
    static const char ping[] = "PING\r\n";
    int64_t deadline = clock_mono_ms() + site->connect_timeout, left;
    struct error ignored;
    int fd = kv_socket_connect(site->host, site->port, site->connect_timeout, &ignored);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char first = '\0';
    bool plain;

    if (fd < 0)
        return false;
    left = deadline - clock_mono_ms();
    plain = send(fd, ping, sizeof ping - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0 &&
            poll(&p, 1, left > 0 ? (int)left : 0) == 1 && recv(fd, &first, 1, MSG_DONTWAIT) == 1 &&
            (first == '+' || first == '-');
    close(fd);
    return plain;
}

static bool shake_hands(struct kv_tls *tls, const struct kv_site *site, struct error *err)
{
    struct tls_session *s = &tls->session;

    if (tls_shake_hands(tls->ssl, s, site->connect_timeout))
        return true;
    if (s->fault == TLS_FAULT_SILENT && speaks_plain(site))
        s->fault = TLS_FAULT_PLAIN;
    return tls_tell(s, err);
}

bool kv_tls_open(struct kv *kv, const struct kv_site *site, struct error *err)
{
    kv->tls = create(kv, site);
    return prepare(kv->tls, err) && shake_hands(kv->tls, site, err);
}

void kv_tls_close(struct kv *kv)
{
    if (!kv->tls)
        return;
    if (kv->tls->session.shaken && !kv->broken)
        (void)SSL_shutdown(kv->tls->ssl); /* says goodbye, and does not wait for an answer */
    SSL_free(kv->tls->ssl);
    ERR_clear_error();
    free(kv->tls);
    kv->tls = NULL;
}

bool kv_tls_refused(struct kv *kv, struct error *err)
{
    bool ended = true;
    char byte;

    if (!kv->tls)
        return false;
    if (kv->tls->session.fault == TLS_FAULT_NONE) { /* what it said last may lie behind a failure to send */
        ssize_t n = kv_bytes_receive(kv, &byte, 1);

        ended = n == 0 || (n < 0 && errno != EAGAIN);
    }
    tls_look(&kv->tls->session, ended);
    if (kv->tls->session.fault != TLS_FAULT_NONE)
        tls_tell(&kv->tls->session, err);
    return kv->tls->session.fault != TLS_FAULT_NONE;
}

const char *kv_tls_cipher(const struct kv *kv, int64_t *until_s)
{
    *until_s = kv->tls ? kv->tls->session.until_s : 0;
    return kv->tls ? kv->tls->session.what : NULL;
}

/* ---- in between ---- */

/* What SSL_read and the like answered, as recv(2) would say it. */
static ssize_t as_socket(const struct kv_tls *tls, int n)
{
    if (n > 0)
        return n;
    switch (SSL_get_error(tls->ssl, n)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        return errno ? -1 : 0;
    default: /* why is kept in OpenSSL's queue, for kv_tls_refused */
        errno = EPROTO;
        return -1;
    }
}

static int length(size_t len)
{
    return len < 1 << 30 ? (int)len : 1 << 30;
}

ssize_t kv_bytes_send(struct kv *kv, const char *bytes, size_t len)
{
    if (!kv->tls)
        return send(kv->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    ERR_clear_error();
    errno = 0;
    return as_socket(kv->tls, SSL_write(kv->tls->ssl, bytes, length(len)));
}

ssize_t kv_bytes_receive(struct kv *kv, char *bytes, size_t len)
{
    if (!kv->tls)
        return recv(kv->fd, bytes, len, MSG_DONTWAIT);
    ERR_clear_error();
    errno = 0;
    return as_socket(kv->tls, SSL_read(kv->tls->ssl, bytes, length(len)));
}

ssize_t kv_bytes_peek(struct kv *kv, char *bytes, size_t len)
{
    if (!kv->tls)
        return recv(kv->fd, bytes, len, MSG_PEEK | MSG_DONTWAIT);
    ERR_clear_error();
    errno = 0;
    return as_socket(kv->tls, SSL_peek(kv->tls->ssl, bytes, length(len)));
}

bool kv_bytes_left(const struct kv *kv)
{
    return kv->tls && SSL_pending(kv->tls->ssl) > 0;
}

#else

bool kv_tls_open(struct kv *kv, const struct kv_site *site, struct error *err)
{
    (void)site;
    return error_set(err, ERROR_INTERNAL, "Redis %s: this orderd was built without TLS", kv->peer);
}

void kv_tls_close(struct kv *kv)
{
    (void)kv;
}

bool kv_tls_refused(struct kv *kv, struct error *err)
{
    (void)kv, (void)err;
    return false;
}

const char *kv_tls_cipher(const struct kv *kv, int64_t *until_s)
{
    (void)kv;
    *until_s = 0;
    return NULL;
}

ssize_t kv_bytes_send(struct kv *kv, const char *bytes, size_t len)
{
    return send(kv->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t kv_bytes_receive(struct kv *kv, char *bytes, size_t len)
{
    return recv(kv->fd, bytes, len, MSG_DONTWAIT);
}

ssize_t kv_bytes_peek(struct kv *kv, char *bytes, size_t len)
{
    return recv(kv->fd, bytes, len, MSG_PEEK | MSG_DONTWAIT);
}

bool kv_bytes_left(const struct kv *kv)
{
    (void)kv;
    return false;
}

#endif
