/* The login itself, within the connect time-out. libmysqlclient applies none to the TLS handshake: where the server
 * falls silent in it, mysql_real_connect does not return. There we go through it step by step and give up by ourselves.
 */
#include "db_private.h"

#include "orderd/clock.h"

/* A login has to wait a handful of times, and the library does not say what for. */
#define LOOK_MS 2

struct call {
    const char *host, *socket;
    unsigned port;
    unsigned long flags;
};

#ifdef ORDERD_MYSQL_SSL_MODE
/* What follows on the connection blocks as usual: the library sees to that before each packet. */
static bool call_it(struct db *db, const struct conf *conf, const struct call *c, int64_t connect_ms)
{
    int64_t until = clock_mono_ms() + connect_ms;
    enum net_async_status status;

    for (;;) {
        status = mysql_real_connect_nonblocking(db->handle, c->host, conf->mysql_user, conf->mysql_password_file,
                                                conf->mysql_database, c->port, c->socket, c->flags);
        if (status != NET_ASYNC_NOT_READY)
            return status == NET_ASYNC_COMPLETE;
        if (clock_mono_ms() >= until) {
            db->late = true;
            return false;
        }
        clock_sleep_ms(LOOK_MS);
    }
}
#else
/* libmariadb keeps its connect time-out in each step of the login. */
static bool call_it(struct db *db, const struct conf *conf, const struct call *c, int64_t connect_ms)
{
    (void)connect_ms;
    return mysql_real_connect(db->handle, c->host, conf->mysql_user, conf->mysql_password_file, conf->mysql_database,
                              c->port, c->socket, c->flags);
}
#endif

bool db_login(struct db *db, const struct conf *conf, const struct db_site *site, int64_t connect_ms)
{
    bool local = site->socket[0];
    struct call c = {.host = local ? "localhost" : site->host,
                     .socket = local ? site->socket : NULL,
                     .port = local ? 0 : (unsigned)site->port,
                     .flags = CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS};

    return call_it(db, conf, &c, connect_ms);
}
