/* Connections to Redis, and servers of a test's own: on free ports of the loopback, in a folder of their own, dead when
 * the test is (also where it fails). */
#ifndef ORDERD_TESTING_REDIS_H
#define ORDERD_TESTING_REDIS_H

#include <sys/types.h>

#include "orderd/kv.h"
#include "testing.h"

/* The redis rows only, with short time-outs; the rest is zero. */
struct conf testing_redis_conf(const char *host, int port);

struct kv *testing_redis_open(int port); /* on the loopback */
struct kv *testing_redis_shared(void);   /* the test run's server */

/* One command of C strings, ended by NULL; fails the test on an error. Free the answer. */
struct kv_reply *testing_redis_do(struct kv *kv, ...);
void testing_redis_run(struct kv *kv, ...); /* the same, for an answer nobody needs */

struct testing_redis {
    pid_t pid;
    int port, tls_port; /* tls_port 0: in plain text only */
    char dir[64];
};

/* Folder and port only; a file TESTING_REDIS_FILE in the folder is then the server's configuration. */
#define TESTING_REDIS_FILE "redis.conf"
void testing_redis_prepare(struct testing_redis *server);

/* After that: it speaks TLS too, on a port of its own, wants certificates of its clients, and talks to its like (those
 * of a cluster, a replica, Sentinels) by TLS alone. It shows the certificate "server" at first; name: another one that
 * scripts/certificates makes: _wear from its next start on, _show at once. */
void testing_redis_speak_tls(struct testing_redis *server);
void testing_redis_wear(const struct testing_redis *server, const char *name);
void testing_redis_show(const struct testing_redis *server, const char *password, const char *name);

/* The port by which servers, Sentinels and clusters call it. */
int testing_redis_known(const struct testing_redis *server);

/* Sets the rows of redis.tls for such servers. */
void testing_redis_by_tls(struct conf *conf);

/* The path of one of those files, which are made when first asked for. */
const char *testing_certificate(const char *file);

/* extra: further arguments of redis-server, ended by NULL. Returns once it answers. */
void testing_redis_start(struct testing_redis *server, const char *const *extra);
void testing_redis_again(struct testing_redis *server, const char *const *extra); /* the same port, after kill */
void testing_redis_kill(struct testing_redis *server);
void testing_redis_stop(struct testing_redis *server); /* kills, and removes the folder */

/* What is published on a channel of the test run's server, from the call of _open on. */
struct testing_listener;
struct testing_listener *testing_listener_open(const char *channel);
/* The next message, as text that is valid until the next call; NULL where none comes within ms. */
const char *testing_listener_next(struct testing_listener *listener, int ms);
void testing_listener_close(struct testing_listener **listener);

#endif
