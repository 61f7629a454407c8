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
    int port;
    char dir[64];
};

/* Folder and port only; a file TESTING_REDIS_FILE in the folder is then the server's configuration. */
#define TESTING_REDIS_FILE "redis.conf"
void testing_redis_prepare(struct testing_redis *server);

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
