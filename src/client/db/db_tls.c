/* mysql.tls, which means the same on both client libraries though their options do not (pitfalls C11): libmysqlclient
 * has a mode; libmariadb can prefer TLS and can verify, and where TLS is only required we look afterwards. */
#include "db_private.h"

#include <stdio.h>
#include <strings.h>

#include "db_probe.h"

/* A local socket is not encrypted: to prefer TLS there would only cost. */
static int mode_of(const struct conf *conf, const struct db_site *site)
{
    return site->socket[0] ? CONF_MYSQL_TLS_OFF : conf->mysql_tls;
}

#ifdef ORDERD_MYSQL_SSL_MODE
static void set_mode(MYSQL *handle, int mode)
{
    static const unsigned modes[] = {[CONF_MYSQL_TLS_OFF] = SSL_MODE_DISABLED,
                                     [CONF_MYSQL_TLS_PREFERRED] = SSL_MODE_PREFERRED,
                                     [CONF_MYSQL_TLS_REQUIRED] = SSL_MODE_REQUIRED,
                                     [CONF_MYSQL_TLS_VERIFY] = SSL_MODE_VERIFY_IDENTITY};
    bool ask_for_key = mode == CONF_MYSQL_TLS_OFF || mode == CONF_MYSQL_TLS_PREFERRED;

    mysql_options(handle, MYSQL_OPT_SSL_MODE, &modes[mode]);
    /* In plain text caching_sha2_password sends the password encrypted by a key that the server is asked for:
     * libmariadb does that by itself. */
    mysql_options(handle, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &ask_for_key);
}
#else
/* ENFORCE enforces nothing: it asks for TLS where the server offers it. Connector/C 3.4 asks, and verifies, by default,
 * so both are always set. */
static void set_mode(MYSQL *handle, int mode)
{
    my_bool ask = mode != CONF_MYSQL_TLS_OFF, verify = mode == CONF_MYSQL_TLS_VERIFY;

    mysql_options(handle, MYSQL_OPT_SSL_ENFORCE, &ask);
    mysql_options(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}
#endif

void db_tls_set_options(MYSQL *handle, const struct conf *conf, const struct db_site *site)
{
    int mode = mode_of(conf, site);

    set_mode(handle, mode);
    if (mode == CONF_MYSQL_TLS_OFF)
        return;
    mysql_options(handle, MYSQL_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3");
    if (conf->mysql_tls_ca_file)
        mysql_options(handle, MYSQL_OPT_SSL_CA, conf->mysql_tls_ca_file);
    if (conf->mysql_tls_cert_file) {
        mysql_options(handle, MYSQL_OPT_SSL_CERT, conf->mysql_tls_cert_file);
        mysql_options(handle, MYSQL_OPT_SSL_KEY, conf->mysql_tls_key_file);
    }
}

/* name: a buffer for "MySQL at 10.0.0.5:3306", for as long as the session. */
static struct tls_session session_of(const struct db *db, const struct conf *conf, const struct db_site *site,
                                     char name[DB_PEER_MAX + 16])
{
    snprintf(name, DB_PEER_MAX + 16, "MySQL at %s", db->peer);
    return (struct tls_session){.peer = {.group = "mysql",
                                         .name = name,
                                         .host = site->host,
                                         .named = site->named,
                                         .ported = site->named,
                                         .anybody = mode_of(conf, site) != CONF_MYSQL_TLS_VERIFY,
                                         .ca = conf->mysql_tls_ca_file,
                                         .cert = conf->mysql_tls_cert_file,
                                         .key = conf->mysql_tls_key_file,
                                         .away = ERROR_DB_AWAY,
                                         .setup = ERROR_DB_SETUP}};
}

bool db_tls_check_files(const struct db *db, const struct conf *conf, const struct db_site *site, struct error *err)
{
    char name[DB_PEER_MAX + 16];
    struct tls_session s = session_of(db, conf, site, name);
    bool any = s.peer.ca || s.peer.cert;

    return !any || mode_of(conf, site) == CONF_MYSQL_TLS_OFF || db_probe_files(&s, err);
}

#ifdef MARIADB_TLS_VERIFY_HOST
/* Connector/C from 3.4 on takes whoever answers at these names for the right server, also where it is told to verify.
 * So a handshake of our own comes first; who does not complete it is not trusted with a login. */
bool db_tls_check_loopback(const struct db *db, const struct conf *conf, const struct db_site *site, int64_t connect_ms,
                           struct error *err)
{
    static const char *const trusted[] = {"localhost", "127.0.0.1", "::1"};
    char name[DB_PEER_MAX + 16];
    struct tls_session s = session_of(db, conf, site, name);
    bool local = false;

    for (size_t i = 0; i < sizeof trusted / sizeof *trusted; i++)
        local = local || strcasecmp(site->host, trusted[i]) == 0;
    if (!local || mode_of(conf, site) != CONF_MYSQL_TLS_VERIFY)
        return true;
    db_probe(&s, site->port, connect_ms);
    if (s.fault != TLS_FAULT_NONE)
        return tls_tell(&s, err);
    return s.shaken ||
           error_set(err, ERROR_DB_AWAY, "cannot connect to %s as %s: it is gone, full, or cannot be verified", name,
                     conf->mysql_user);
}
#else
bool db_tls_check_loopback(const struct db *db, const struct conf *conf, const struct db_site *site, int64_t connect_ms,
                           struct error *err)
{
    (void)db, (void)conf, (void)site, (void)connect_ms, (void)err;
    return true;
}
#endif

/* The connection ended in the login, without a word. libmysqlclient 9.7 sometimes knows no number for that (seen where
 * the server refused our certificate). */
static bool ended(unsigned number)
{
    return number == CR_SERVER_LOST || number == CR_UNKNOWN_ERROR;
}

/* The login was given up. One that hangs altogether has not even greeted, and would only be waited for once more. */
static bool fell_silent(const struct db *db)
{
    return db->late && mysql_get_server_info(db->handle);
}

bool db_tls_refused(struct db *db, const struct conf *conf, const struct db_site *site, int64_t connect_ms,
                    struct error *err)
{
    char name[DB_PEER_MAX + 16];
    struct tls_session s = session_of(db, conf, site, name);
    unsigned number = mysql_errno(db->handle);
    bool cut_off = ended(number) && s.peer.cert; /* a refusal of ours may get lost in the end of it all */

    if (mode_of(conf, site) == CONF_MYSQL_TLS_OFF || !(number == CR_SSL_CONNECTION_ERROR || cut_off || fell_silent(db)))
        return false;
    db_probe(&s, site->port, connect_ms);
    if (s.fault != TLS_FAULT_NONE)
        tls_tell(&s, err);
    return s.fault != TLS_FAULT_NONE;
}

bool db_tls_cut_off(const struct db *db)
{
#ifdef ORDERD_OPENSSL
    return mysql_errno(db->handle) == CR_SSL_CONNECTION_ERROR;
#else
    (void)db;
    return false; /* nobody looked for what is wrong */
#endif
}

bool db_tls_check(struct db *db, const struct conf *conf, const struct db_site *site, struct error *err)
{
    char name[DB_PEER_MAX + 16];
    struct tls_session s = session_of(db, conf, site, name);

    if (mode_of(conf, site) < CONF_MYSQL_TLS_REQUIRED || mysql_get_ssl_cipher(db->handle))
        return true;
    tls_note(&s, TLS_FAULT_NOT_OFFERED, "");
    return tls_tell(&s, err);
}

const char *db_encrypted_by(const struct db *db)
{
    return mysql_get_ssl_cipher(db->handle);
}
