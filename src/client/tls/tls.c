#include "orderd/tls.h"

#ifdef ORDERD_OPENSSL

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "tls_certificate.h"

#define ALERT_MS 500

static struct tls_session *session_of(const SSL *ssl)
{
    return SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
}

/* ---- the server's certificate ---- */

static enum tls_fault fault_of(int number)
{
    switch (number) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return TLS_FAULT_EXPIRED;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return TLS_FAULT_EARLY;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return TLS_FAULT_NAME;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        return TLS_FAULT_AUTHORITY;
    default:
        return TLS_FAULT_REJECTED;
    }
}

/* Never says yes where OpenSSL says no; only remembers why. */
static int verified(int good, X509_STORE_CTX *store)
{
    struct tls_session *s = session_of(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    int number = X509_STORE_CTX_get_error(store);
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    enum tls_fault fault = fault_of(number);
    char detail[sizeof s->detail];

    if (good)
        return good;
    snprintf(detail, sizeof detail, "%s", X509_verify_cert_error_string(number));
    if (certificate && fault == TLS_FAULT_NAME)
        tls_certificate_names(certificate, detail, sizeof detail);
    else if (certificate && (fault == TLS_FAULT_EXPIRED || fault == TLS_FAULT_EARLY))
        tls_certificate_window(certificate, detail, sizeof detail);
    tls_note(s, fault, detail);
    return good;
}

static bool expect_name(SSL_CTX *ctx, const char *host)
{
    X509_VERIFY_PARAM *param = SSL_CTX_get0_param(ctx);

    if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1)
        return true;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1;
}

/* ---- what the server says of ours ---- */

static int asked(SSL *ssl, X509 **certificate, EVP_PKEY **key) /* only called where we have none */
{
    (void)certificate, (void)key;
    session_of(ssl)->asked = true;
    return 0;
}

static void told(struct tls_session *s, int alert)
{
    const char *words = SSL_alert_desc_string_long(alert);

    switch (alert & 0xff) {
    case SSL_AD_CLOSE_NOTIFY:
        break;
    case SSL_AD_CERTIFICATE_REQUIRED:
        tls_note(s, TLS_FAULT_OWN_MISSING, words);
        break;
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
        tls_note(s, s->peer.cert ? TLS_FAULT_OWN_REFUSED : TLS_FAULT_OWN_MISSING, words);
        break;
    case SSL_AD_HANDSHAKE_FAILURE: /* up to TLS 1.2 the answer to a certificate that is missing, too */
    case SSL_AD_PROTOCOL_VERSION:
    case SSL_AD_INSUFFICIENT_SECURITY:
        tls_note(s, s->asked ? TLS_FAULT_OWN_MISSING : TLS_FAULT_VERSION, words);
        break;
    default:
        tls_note(s, TLS_FAULT_FAILED, words);
    }
}

static void complete(struct tls_session *s, const SSL *ssl)
{
    X509 *certificate = SSL_get_peer_certificate(ssl);

    s->shaken = true;
    snprintf(s->what, sizeof s->what, "%s, %s", SSL_get_version(ssl), SSL_get_cipher_name(ssl));
    if (certificate)
        s->until_s = tls_certificate_until(certificate);
    X509_free(certificate);
}

/* A server name is no address (RFC 6066), and librabbitmq, which is given addresses, would send one. */
static void name_server(SSL *ssl, const char *host)
{
    unsigned char address[16];
    bool is_name = inet_pton(AF_INET, host, address) != 1 && inet_pton(AF_INET6, host, address) != 1;

    if (!is_name)
        host = NULL;
    (void)SSL_set_tlsext_host_name(ssl, host);
}

static void happened(const SSL *ssl, int where, int value)
{
    struct tls_session *s = session_of(ssl);

    if (where & SSL_CB_HANDSHAKE_START && !s->shaken)
        name_server((SSL *)(uintptr_t)ssl, s->peer.host);
    if (where & SSL_CB_HANDSHAKE_DONE)
        complete(s, ssl);
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT)
        told(s, value);
}

/* ---- preparing ---- */

static int no_passphrase(char *out, int size, int writing, void *arg)
{
    (void)out, (void)size, (void)writing, (void)arg;
    return -1; /* a daemon must not ask the terminal */
}

static bool no_use(const struct tls_session *s, const char *key, const char *path, struct error *err)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());

    error_set(err, s->peer.setup, "%s: %s.%s \"%s\" is of no use (%s); mend it, or name another", s->peer.name,
              s->peer.group, key, path, why ? why : "not PEM");
    ERR_clear_error();
    return false;
}

static bool load_files(SSL_CTX *ctx, const struct tls_session *s, struct error *err)
{
    const struct tls_peer *p = &s->peer;

    ERR_clear_error();
    if (p->ca && SSL_CTX_load_verify_locations(ctx, p->ca, NULL) != 1)
        return no_use(s, "tls_ca_file", p->ca, err);
    if (!p->cert)
        return true;
    if (SSL_CTX_use_certificate_chain_file(ctx, p->cert) != 1)
        return no_use(s, "tls_cert_file", p->cert, err);
    if (SSL_CTX_use_PrivateKey_file(ctx, p->key, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ctx) != 1)
        return no_use(s, "tls_key_file", p->key, err);
    return true;
}

bool tls_prepare(SSL_CTX *ctx, struct tls_session *s, struct error *err)
{
    SSL_CTX_set_app_data(ctx, s);
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    SSL_CTX_set_client_cert_cb(ctx, asked);
    SSL_CTX_set_info_callback(ctx, happened);
    SSL_CTX_set_verify(ctx, s->peer.anybody ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, s->peer.anybody ? NULL : verified);
    CHECK(SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 && SSL_CTX_set_max_proto_version(ctx, 0) == 1);
    CHECK(s->peer.anybody || expect_name(ctx, s->peer.host));
    return load_files(ctx, s, err);
}

SSL_CTX *tls_context(struct tls_session *s, struct error *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    CHECK(ctx != NULL);
    if (tls_prepare(ctx, s, err))
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

/* ---- shaking hands ---- */

/* Waits for what OpenSSL wants of the socket; false when the time is up. */
static bool await(int fd, int wanted, int64_t deadline)
{
    struct pollfd p = {.fd = fd, .events = wanted == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN};
    int64_t left = deadline - clock_mono_ms();
    int n = left > 0 ? poll(&p, 1, (int)left) : 0;

    return n > 0 || (n < 0 && errno == EINTR);
}

bool tls_shake_hands(SSL *ssl, struct tls_session *s, int64_t timeout_ms)
{
    int64_t deadline = clock_mono_ms() + timeout_ms;
    char limit[32];
    int n;

    ERR_clear_error();
    while ((n = SSL_connect(ssl)) != 1) {
        int wanted = SSL_get_error(ssl, n);

        if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE) {
            tls_look(s, true);
            return false;
        }
        if (!await(SSL_get_fd(ssl), wanted, deadline)) {
            snprintf(limit, sizeof limit, "%lld ms", (long long)timeout_ms);
            tls_note(s, TLS_FAULT_SILENT, limit);
            return false;
        }
    }
    return true;
}

/* From TLS 1.3 on, a server says after the handshake what it thinks of our certificate. Who sends something at once, as
 * a client does with its login, may lose that in the end of the connection. */
static void await_alert(SSL *ssl, struct tls_session *s)
{
    int64_t deadline = clock_mono_ms() + ALERT_MS;
    int n, wanted = SSL_ERROR_WANT_READ;
    char byte;

    while (wanted == SSL_ERROR_WANT_READ && await(SSL_get_fd(ssl), wanted, deadline)) {
        n = SSL_read(ssl, &byte, 1);
        wanted = SSL_get_error(ssl, n);
    }
    if (wanted == SSL_ERROR_SSL || wanted == SSL_ERROR_SYSCALL || wanted == SSL_ERROR_ZERO_RETURN)
        tls_look(s, true);
}

void tls_probe(struct tls_session *s, int fd, int64_t timeout_ms)
{
    struct error ignored;
    SSL_CTX *ctx = tls_context(s, &ignored);
    SSL *ssl = ctx ? SSL_new(ctx) : NULL;

    if (ssl && SSL_set_fd(ssl, fd) == 1 && tls_shake_hands(ssl, s, timeout_ms))
        await_alert(ssl, s);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

/* ---- afterwards ---- */

static bool is_plain(unsigned long number)
{
    switch (ERR_GET_REASON(number)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_BAD_RECORD_TYPE:
        return true;
    default:
        return false;
    }
}

void tls_look(struct tls_session *s, bool ended)
{
    unsigned long number = ERR_peek_last_error();
    const char *why = ERR_GET_LIB(number) == ERR_LIB_SSL ? ERR_reason_error_string(number) : NULL;

    ERR_clear_error();
    if (s->asked && ended) /* from TLS 1.3 on the alert that says so comes after the handshake, and may get lost */
        tls_note(s, TLS_FAULT_ASKED, "");
    else if (why && !s->shaken && is_plain(number))
        tls_note(s, TLS_FAULT_PLAIN, why);
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
    else if (why && ERR_GET_REASON(number) == SSL_R_UNEXPECTED_EOF_WHILE_READING && !s->shaken)
        tls_note(s, TLS_FAULT_ENDED, "");
#endif
    else if (why)
        tls_note(s, TLS_FAULT_FAILED, why);
    else if (ended && !s->shaken)
        tls_note(s, TLS_FAULT_ENDED, "");
}

#endif
