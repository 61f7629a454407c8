/* A small HTTP server on loopback that says what a test wants, in a thread of its own. One per test process. */
#ifndef ORDERD_TESTING_PEER_H
#define ORDERD_TESTING_PEER_H

#include "testing.h"

/* Listens; answers 404 to everything so far. Answers its port. */
int testing_peer_start(void);

/* Another process, as if orderd had gone: nobody listens; and at the same port again. */
void testing_peer_stop(void);
void testing_peer_restart(void);

/* From now on: status and body for this path (kept by the caller; at most 4 paths). status 0: takes the connection and
 * never answers. */
void testing_peer_say(const char *path, int status, const char *body);

/* How many requests it has read. */
int testing_peer_asked(void);

#endif
