/* What the tls keys of one group must keep to together. */
#ifndef ORDERD_SERVICE_CONF_TLS_H
#define ORDERD_SERVICE_CONF_TLS_H

#include "conf_private.h"
#include "orderd/error.h"

/* What this build can do, found out by CMake. */
struct conf_tls_able {
    bool broker, redis;
};

#ifdef ORDERD_BROKER_TLS
#define CONF_TLS_BROKER true
#else
#define CONF_TLS_BROKER false
#endif
#ifdef ORDERD_OPENSSL
#define CONF_TLS_REDIS true
#else
#define CONF_TLS_REDIS false
#endif
#define CONF_TLS_ABLE                                                                                                  \
    {                                                                                                                  \
        CONF_TLS_BROKER, CONF_TLS_REDIS                                                                                \
    }

/* The first key that is wrong, one that a file sets, with the sentence in *err; CONF_KEY_COUNT where all is well. */
size_t conf_tls_wrong(const struct conf *conf, const struct conf_tls_able *able, struct error *err);

#endif
