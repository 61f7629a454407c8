#include "broker_private.h"

#include <stdio.h>
#include <sys/time.h>

#include "orderd/units.h"

/* librabbitmq announces neither consumer_cancel_notify nor connection.blocked, and without them a deleted queue and an
 * alarm stay silent for ever (rabbitmq-c #870, #511). */
static const char *const capabilities[] = {
    "consumer_cancel_notify", "connection.blocked",           "basic.nack",
    "publisher_confirms",     "authentication_failure_close", "exchange_exchange_bindings",
};

#define CAPABILITIES (sizeof capabilities / sizeof *capabilities)

static amqp_table_entry_t entry_true(const char *key)
{
    return (amqp_table_entry_t){.key = bytes_of_text(key),
                                .value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1}};
}

static amqp_table_entry_t entry_text(const char *key, const char *text)
{
    return (amqp_table_entry_t){.key = bytes_of_text(key),
                                .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = bytes_of_text(text)}};
}

static bool by_certificate(const struct conf *conf)
{
    return conf->broker_auth == CONF_AUTH_EXTERNAL;
}

static amqp_rpc_reply_t send_login(struct broker *b, const struct conf *conf)
{
    const char *password = conf->broker_password_file;
    int heartbeat_s = (int)(conf->broker_heartbeat / 1000);
    amqp_table_entry_t can[CAPABILITIES], properties[4];
    amqp_table_t table = {4, properties};

    for (size_t i = 0; i < CAPABILITIES; i++)
        can[i] = entry_true(capabilities[i]);
    properties[0] = entry_text("product", "orderd");
    properties[1] = entry_text("version", ORDERD_VERSION);
    properties[2] = entry_text("connection_name", b->name);
    properties[3] = (amqp_table_entry_t){
        .key = bytes_of_text("capabilities"),
        .value = {.kind = AMQP_FIELD_KIND_TABLE, .value.table = {(int)CAPABILITIES, can}},
    };
    if (by_certificate(conf)) /* what is claimed beside the certificate counts for nothing, but the library sends none
                                 that is empty */
        return amqp_login_with_properties(b->library, conf->broker_vhost, BROKER_CHANNEL, FRAME_MAX, heartbeat_s,
                                          &table, AMQP_SASL_METHOD_EXTERNAL, "orderd");
    return amqp_login_with_properties(b->library, conf->broker_vhost, BROKER_CHANNEL, FRAME_MAX, heartbeat_s, &table,
                                      AMQP_SASL_METHOD_PLAIN, conf->broker_user,
                                      password && *password ? password : "guest");
}

static bool refused(const struct broker *b, const struct conf *conf, const amqp_method_t *reply, struct error *err)
{
    const amqp_connection_close_t *m = reply->decoded;
    struct slice text;

    if (reply->id != AMQP_CONNECTION_CLOSE_METHOD)
        return error_set(err, ERROR_BROKER_AWAY, "broker %s closed the channel during login", b->where);
    text = slice_of_bytes(m->reply_text);
    if (by_certificate(conf))
        return error_set(
            err, broker_close_meaning(true, m->reply_code, text),
            "broker %s refused the login by broker.tls_cert_file to vhost \"%s\" with %u: %.*s; is its name "
            "a user there?",
            b->where, conf->broker_vhost, m->reply_code, (int)text.len, text.ptr);
    return error_set(err, broker_close_meaning(true, m->reply_code, text),
                     "broker %s refused the login of user \"%s\" to vhost \"%s\" with %u: %.*s", b->where,
                     conf->broker_user, conf->broker_vhost, m->reply_code, (int)text.len, text.ptr);
}

static bool no_login(struct broker *b, const struct conf *conf, int status, bool shot, struct error *err)
{
    const char *hint =
        conf->broker_tls == CONF_TLS_OFF ? "; if that is its TLS port, set broker.tls to \"verify\"" : "";

    if (shot)
        return error_set(err, ERROR_BROKER_AWAY, "broker %s: the login was ended by the watchdog", b->where);
    if (status != AMQP_STATUS_TIMEOUT && broker_secure_ended(b, (int)conf->broker_connect_timeout, err))
        return false;
    switch (status) {
    case AMQP_STATUS_TIMEOUT:
        return error_set(err, ERROR_BROKER_AWAY, "broker %s does not answer the login within %lld ms", b->where,
                         (long long)conf->broker_connect_timeout);
    case AMQP_STATUS_BROKER_UNSUPPORTED_SASL_METHOD:
        return error_set(err, ERROR_BROKER_SETUP, "broker %s does not offer login by %s", b->where,
                         by_certificate(conf)
                             ? "certificate (EXTERNAL); enable its plug-in rabbitmq_auth_mechanism_ssl "
                               "and add EXTERNAL to its auth_mechanisms"
                             : "password (PLAIN)");
    case AMQP_STATUS_BAD_AMQP_DATA:
    case AMQP_STATUS_WRONG_METHOD:
    case AMQP_STATUS_UNKNOWN_METHOD:
    case AMQP_STATUS_UNKNOWN_CLASS:
    case AMQP_STATUS_INCOMPATIBLE_AMQP_VERSION:
        return error_set(err, ERROR_BROKER_AWAY, "what answers at %s does not speak AMQP 0-9-1 (%s)%s", b->where,
                         amqp_error_string2(status), hint);
    default:
        return error_set(err, ERROR_BROKER_AWAY, "broker %s ended the connection during login: %s%s", b->where,
                         amqp_error_string2(status), hint);
    }
}

/* What the server says of itself; "" where it does not. */
static void read_property(amqp_connection_state_t library, const char *name, char *out, size_t size)
{
    const amqp_table_t *table = amqp_get_server_properties(library);

    out[0] = '\0';
    for (int i = 0; table && i < table->num_entries; i++) {
        const amqp_table_entry_t *e = &table->entries[i];

        if (slice_is(slice_of_bytes(e->key), name) &&
            (e->value.kind == AMQP_FIELD_KIND_UTF8 || e->value.kind == AMQP_FIELD_KIND_BYTES))
            snprintf(out, size, "%.*s", (int)e->value.value.bytes.len, (char *)e->value.value.bytes.bytes);
    }
}

static int version_of(amqp_connection_state_t library)
{
    unsigned major = 0, minor = 0, patch = 0;
    char text[32];

    read_property(library, "version", text, sizeof text);
    return sscanf(text, "%3u.%2u.%2u", &major, &minor, &patch) >= 2 ? (int)(major * 10000 + minor * 100 + patch) : 0;
}

bool broker_login(struct broker *b, const struct conf *conf, struct error *err)
{
    struct timeval limit = {conf->broker_connect_timeout / 1000, conf->broker_connect_timeout % 1000 * 1000};
    amqp_rpc_reply_t reply;
    bool shot;

    amqp_set_handshake_timeout(b->library, &limit);
    amqp_set_rpc_timeout(b->library, &limit);
    guard_enter(&b->guard, conf->broker_connect_timeout + 1000); /* the library keeps to its own limit, if it can */
    reply = send_login(b, conf);
    shot = guard_leave(&b->guard);
    if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION)
        return refused(b, conf, &reply.reply, err);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        return no_login(b, conf, reply.library_error, shot, err);
    b->version = version_of(b->library);
    read_property(b->library, "cluster_name", b->cluster, sizeof b->cluster);
    return true;
}
