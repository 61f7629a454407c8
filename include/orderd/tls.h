/* TLS with a server, by OpenSSL: who it has to be, who we are, and what became of it in one sentence.
 *
 * The same rules for every client: TLS 1.2 or later; a certificate that is signed by the authorities of a file, is
 * valid now, and names the host that was asked for (a DNS name or an address). They are checked by OpenSSL within the
 * handshake, so before any password is sent, and on no version by code of a client's library (pitfalls A10, D). Not in
 * a build without OpenSSL (ORDERD_OPENSSL), where the configuration asks for none of it.
 *
 * Only tls_shake_hands and tls_probe wait. A session belongs to one thread. */
#ifndef ORDERD_TLS_H
#define ORDERD_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/error.h"

struct ssl_ctx_st; /* OpenSSL's SSL_CTX and SSL */
struct ssl_st;

enum tls_fault {
    TLS_FAULT_NONE,
#define X(id, class_, sentence) TLS_FAULT_##id,
#include "orderd/tbl/tls_fault.h"
#undef X
    TLS_FAULT_COUNT
};

/* Whom we talk to. Strings of the caller, who keeps them as long as the session. */
struct tls_peer {
    const char *group;           /* of the configuration: "broker" */
    const char *name;            /* begins each sentence: "broker mq.example:5671" */
    const char *host;            /* what its certificate must name */
    const char *ca, *cert, *key; /* paths; cert and key may be NULL */
    const char *named, *ported;  /* where host and port are to be mended; NULL: "redis.host", "redis.port" of group */
    bool anybody;                /* it need not prove who it is: ca and host count for nothing */
    enum error_code away, setup; /* what its faults are */
};

/* One connection's story; plain data, filled by callbacks of its handshake. */
struct tls_session {
    struct tls_peer peer;
    enum tls_fault fault; /* the first that was seen */
    char detail[192];
    bool asked;      /* the server has asked for our certificate */
    bool shaken;     /* the handshake is complete */
    char what[64];   /* then: "TLSv1.3, TLS_AES_256_GCM_SHA384" */
    int64_t until_s; /* then: when the server's certificate ends, seconds since 1970 */
};

/* Makes ctx do what is said above for a session of this peer; the session must outlive every SSL of ctx. Reads the
 * three files. false: s->peer.setup, with the file that is of no use, and why. */
ORDERD_MUST_CHECK bool tls_prepare(struct ssl_ctx_st *ctx, struct tls_session *s, struct error *err);

/* A context of our own, prepared; NULL: as above. Free it with SSL_CTX_free. */
ORDERD_MUST_CHECK struct ssl_ctx_st *tls_context(struct tls_session *s, struct error *err);

/* Shakes hands with the server, on a socket that is connected and does not block; at most timeout_ms. false: the fault
 * is noted. */
ORDERD_MUST_CHECK bool tls_shake_hands(struct ssl_st *ssl, struct tls_session *s, int64_t timeout_ms);

/* Shakes hands on a connected socket only to learn what goes wrong, which is noted: also what the server says of our
 * certificate, half a second later at most. The caller closes the socket. */
void tls_probe(struct tls_session *s, int fd, int64_t timeout_ms);

/* After a call of OpenSSL, or of a library that uses it, has failed on this thread: whatever is known of the reason.
 * Empties OpenSSL's error queue. ended: the connection is at its end. */
void tls_look(struct tls_session *s, bool ended);

/* Notes a fault that was seen otherwise, unless there is one already. detail: cut when longer; "" for none. */
void tls_note(struct tls_session *s, enum tls_fault fault, const char *detail);

/* Answers false, with the sentence of the session's fault (FAILED where none is known). */
bool tls_tell(const struct tls_session *s, struct error *err);

/* When the certificates of a PEM file end, seconds since 1970: that which ends first, and that which ends last. false:
 * it holds none. A build without OpenSSL does not look: INT64_MAX. */
bool tls_file_until(const char *path, int64_t *first_s, int64_t *last_s);

#endif
