/* Redis Sentinel for tests: a primary, its replica and three Sentinels, all of a test's own on loopback; and Sentinels
 * of straw that say what a test wants. */
#ifndef ORDERD_TESTING_SENTINEL_H
#define ORDERD_TESTING_SENTINEL_H

#include "testing_redis.h"

enum { TESTING_SENTINELS = 3 };

struct testing_sentinels {
    struct testing_redis servers[2];
    struct testing_redis sentinels[TESTING_SENTINELS];
    bool tls;        /* all of them call each other by their TLS ports */
    char nodes[128]; /* for redis.nodes */
};

#define TESTING_SENTINEL_NAME   "sale"
#define TESTING_SERVER_SECRET   "of-the-servers"
#define TESTING_SENTINEL_SECRET "of-the-sentinels"

/* Returns once all of them know each other: servers[0] is the primary. A failover takes about two seconds. */
void testing_sentinels_start(struct testing_sentinels *s);
void testing_sentinels_start_tls(struct testing_sentinels *s);
void testing_sentinels_stop(struct testing_sentinels *s);

/* One more of those by TLS, which shows another certificate (see testing_redis.h); stop it by testing_redis_stop. */
void testing_sentinels_add(const struct testing_sentinels *s, struct testing_redis *sentinel, const char *certificate);

/* The redis rows for them, with both passwords. */
struct conf testing_sentinels_conf(const struct testing_sentinels *s);

/* The port of the primary (testing_redis_known) in the eyes of Sentinel i. */
int testing_sentinels_primary(const struct testing_sentinels *s, int i);

/* Lets Sentinel 0 move the primary's role to the replica, and waits until that Sentinel names it. */
void testing_sentinels_failover(const struct testing_sentinels *s);

/* Starts a server that was killed again, as replica of the other one. */
void testing_sentinels_revive(struct testing_sentinels *s, int server);

/* A Sentinel of straw: answers every question about a primary with the port of one on loopback; 0: knows none; -1:
 * takes connections and says nothing. It does not know of any failover. */
struct testing_straw {
    int port;
    int listener;
    int names;
    int epoch; /* of the failover that it tells of, atomically; -1: it may not be asked for that */
    int asked; /* how often, atomically */
};

void testing_straw_start(struct testing_straw *straw, int names);

/* Writes such a secret into a file that a configuration may name; answers path. */
const char *testing_sentinels_secret(char path[256], const char *name, const char *secret);

#endif
