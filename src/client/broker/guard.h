/* The watchdog's view of one connection: since when its owner has been inside the library.
 *
 * The guard owns a duplicate of the socket's descriptor. The library closes its own whenever it likes (heartbeat
 * missed, time-out), and the number may then belong to somebody else's file; the duplicate stays ours until
 * guard_remove, so shutdown(2) can only ever hit this connection. */
#ifndef BROKER_GUARD_H
#define BROKER_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct guard {
    const char *name; /* set before guard_add, lives as long */
    int fd;           /* the duplicate; set by guard_add, read by the owner only */
    int64_t until_ms; /* guarded by the registry's lock, as are all below: when the owner has to be out; 0: it is out */
    int64_t budget_ms;
    bool shot; /* the socket was shut down from outside */
    struct guard *next, **link;
};

/* Duplicates fd and registers; false (errno set) where there is no descriptor left. */
bool guard_add(struct guard *g, int fd);

/* Closes the duplicate. Safe where guard_add was never called or failed (fd < 0). */
void guard_remove(struct guard *g);

/* Around everything that may block inside the library, and how long that may take. leave answers whether the socket was
 * shut down meanwhile or before. */
void guard_enter(struct guard *g, int64_t budget_ms);
bool guard_leave(struct guard *g);

#endif
