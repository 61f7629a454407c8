#ifdef ORDERD_OPENSSL

#include "tls_certificate.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "orderd/strbuf.h"
#include "orderd/tls.h"

/* As text that a log line can take: these are the peer's bytes. */
static void add_name(struct strbuf *out, const char *text, size_t len)
{
    strbuf_add_str(out, out->len ? ", " : "");
    for (size_t i = 0; i < len; i++)
        strbuf_add_char(out, text[i] > ' ' && text[i] < 0x7f ? text[i] : '?');
}

static void add_general_name(struct strbuf *out, const GENERAL_NAME *name)
{
    char address[INET6_ADDRSTRLEN];
    const ASN1_OCTET_STRING *ip = name->d.iPAddress;

    if (name->type == GEN_DNS) {
        add_name(out, (const char *)ASN1_STRING_get0_data(name->d.dNSName),
                 (size_t)ASN1_STRING_length(name->d.dNSName));
    } else if (name->type == GEN_IPADD && (ASN1_STRING_length(ip) == 4 || ASN1_STRING_length(ip) == 16)) {
        inet_ntop(ASN1_STRING_length(ip) == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(ip), address, sizeof address);
        add_name(out, address, strlen(address));
    }
}

/* Its common name counts only where there is no list of names. */
static void add_common_name(struct strbuf *out, X509 *certificate)
{
    char text[128] = "";
    int len = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof text);

    if (len > 0)
        add_name(out, text, strlen(text));
    else
        strbuf_add_str(out, "nobody");
}

void tls_certificate_names(X509 *certificate, char *out, size_t size)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < sk_GENERAL_NAME_num(names) && text.len < size; i++)
        add_general_name(&text, sk_GENERAL_NAME_value(names, i));
    if (text.len == 0)
        add_common_name(&text, certificate);
    snprintf(out, size, "%s%s", text.len < 120 ? text.data : "", text.len < 120 ? "" : "many other names");
    GENERAL_NAMES_free(names);
    strbuf_release(&text);
}

static void print_time(const ASN1_TIME *at, char out[24])
{
    struct tm tm = {0};

    if (ASN1_TIME_to_tm(at, &tm) != 1 || strftime(out, 24, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(out, 24, "?");
}

void tls_certificate_window(X509 *certificate, char *out, size_t size)
{
    struct strbuf whose = STRBUF_INIT;
    char from[24], to[24];

    add_common_name(&whose, certificate);
    print_time(X509_get0_notBefore(certificate), from);
    print_time(X509_get0_notAfter(certificate), to);
    snprintf(out, size, "%.60s, valid from %s to %s UTC", whose.data, from, to);
    strbuf_release(&whose);
}

int64_t tls_certificate_until(const X509 *certificate)
{
    struct tm tm = {0};

    return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

bool tls_file_until(const char *path, int64_t *first_s, int64_t *last_s)
{
    BIO *file = BIO_new_file(path, "r");
    X509 *certificate;
    bool any = false;

    while (file && (certificate = PEM_read_bio_X509(file, NULL, NULL, NULL))) {
        int64_t until = tls_certificate_until(certificate);

        *first_s = !any || until < *first_s ? until : *first_s;
        *last_s = !any || until > *last_s ? until : *last_s;
        any = true;
        X509_free(certificate);
    }
    BIO_free(file);
    ERR_clear_error();
    return any;
}

#else

#include "orderd/tls.h"

bool tls_file_until(const char *path, int64_t *first_s, int64_t *last_s)
{
    (void)path;
    *first_s = *last_s = INT64_MAX;
    return true;
}

#endif
