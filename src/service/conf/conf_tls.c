#include "conf_tls.h"

struct group {
    const char *name;
    size_t mode, ca, cert, key;
    int verify; /* the word of mode */
};

static const struct group groups[] = {
#define GROUP(section, verify)                                                                                         \
    {                                                                                                                  \
#section, CONF_INDEX_##section##_tls, CONF_INDEX_##section##_tls_ca_file,                                      \
            CONF_INDEX_##section##_tls_cert_file, CONF_INDEX_##section##_tls_key_file, verify                          \
    }
    GROUP(broker, CONF_TLS_VERIFY),
    GROUP(mysql, CONF_MYSQL_TLS_VERIFY),
    GROUP(redis, CONF_TLS_VERIFY),
};

/* How a configuration would look protected and not be so, or never connect. */
static size_t wrong_in(const struct conf *conf, const struct group *g, struct error *err)
{
    int mode = *(const int *)conf_field_const(conf, g->mode);
    const char *ca = *(const char *const *)conf_field_const(conf, g->ca);
    const char *cert = *(const char *const *)conf_field_const(conf, g->cert);
    const char *key = *(const char *const *)conf_field_const(conf, g->key);
    size_t at = CONF_KEY_COUNT;

    if (mode == g->verify && !ca) {
        at = g->mode;
        error_set(
            err, ERROR_CONF_INVALID,
            "%s.tls: \"verify\" needs %s.tls_ca_file (expected the file of the authority that signed the server's "
            "certificate)",
            g->name, g->name);
    } else if (ca && mode != g->verify) {
        at = g->ca;
        error_set(err, ERROR_CONF_INVALID, "%s.tls_ca_file: nothing is verified by it (expected %s.tls = \"verify\")",
                  g->name, g->name);
    } else if (cert && mode == 0) {
        at = g->cert;
        error_set(err, ERROR_CONF_INVALID, "%s.tls_cert_file: nobody is shown it where %s.tls is \"off\" (expected %s)",
                  g->name, g->name, "another word there");
    } else if (!cert != !key) {
        at = cert ? g->cert : g->key;
        error_set(err, ERROR_CONF_INVALID, "%s.%s: a certificate and its key go together (expected %s.%s, too)",
                  g->name, cert ? "tls_cert_file" : "tls_key_file", g->name, cert ? "tls_key_file" : "tls_cert_file");
    }
    return at;
}

static size_t wrong_with_socket(const struct conf *conf, struct error *err)
{
    if (!conf->mysql_socket[0] || conf_node_count(conf->mysql_hosts) > 0 || conf->mysql_tls < CONF_MYSQL_TLS_REQUIRED)
        return CONF_KEY_COUNT;
    error_set(err, ERROR_CONF_INVALID,
              "mysql.tls: a local socket (mysql.socket) is not encrypted (expected \"preferred\" or \"off\")");
    return CONF_INDEX_mysql_tls;
}

static size_t wrong_login(const struct conf *conf, struct error *err)
{
    if (conf->broker_auth != CONF_AUTH_EXTERNAL || conf->broker_tls_cert_file)
        return CONF_KEY_COUNT;
    error_set(err, ERROR_CONF_INVALID,
              "broker.auth: \"external\" is the login by a certificate (expected broker.tls_cert_file, or \"plain\")");
    return CONF_INDEX_broker_auth;
}

static size_t not_built(size_t at, const char *group, const char *lacking, struct error *err)
{
    error_set(err, ERROR_CONF_INVALID,
              "%s.tls: this orderd was built without TLS for it, for want of %s (expected \"off\")", group, lacking);
    return at;
}

size_t conf_tls_wrong(const struct conf *conf, const struct conf_tls_able *able, struct error *err)
{
    if (conf->broker_tls != CONF_TLS_OFF && !able->broker)
        return not_built(CONF_INDEX_broker_tls, "broker", "OpenSSL, or of a librabbitmq that has it", err);
    if (conf->redis_tls != CONF_TLS_OFF && !able->redis)
        return not_built(CONF_INDEX_redis_tls, "redis", "OpenSSL", err);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        size_t at = wrong_in(conf, &groups[i], err);

        if (at != CONF_KEY_COUNT)
            return at;
    }
    if (wrong_login(conf, err) != CONF_KEY_COUNT)
        return CONF_INDEX_broker_auth;
    return wrong_with_socket(conf, err);
}
