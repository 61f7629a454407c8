/* Why TLS with a MySQL server came to nothing. The client libraries tell little of it, each in words of its own and
 * some in none, so that after a failure the handshake is tried once more by ourselves, as far as the login. */
#ifndef DB_PROBE_H
#define DB_PROBE_H

#include "orderd/tls.h"

/* Notes what is wrong into the session; nothing where all goes well, or fails otherwise than by TLS, or in a build
 * without OpenSSL. Blocks for at most about twice timeout_ms. */
void db_probe(struct tls_session *s, int port, int64_t timeout_ms);

/* Whether the session's files can be used. The libraries do not say which cannot, and ask the terminal for a
 * passphrase.
 */
ORDERD_MUST_CHECK bool db_probe_files(struct tls_session *s, struct error *err);

#endif
