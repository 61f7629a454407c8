/* What a certificate says of itself, as text for sentences. */
#ifndef TLS_CERTIFICATE_H
#define TLS_CERTIFICATE_H

#include <openssl/x509.h>
#include <stddef.h>
#include <stdint.h>

/* The DNS names and addresses it is for, "a.example, 10.0.0.1"; as many as fit. */
void tls_certificate_names(X509 *certificate, char *out, size_t size);

/* "valid from 2026-01-31 to 2027-01-31 12:00:00 UTC", with whose it is in front. */
void tls_certificate_window(X509 *certificate, char *out, size_t size);

/* When it ends, seconds since 1970. */
int64_t tls_certificate_until(const X509 *certificate);

#endif
