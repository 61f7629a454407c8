/* Memory for one batch: taken piece by piece, given back all at once at the top of the loop, so a batch cannot leak.
 * One thread each. Pieces are aligned for any type and not zeroed. */
#ifndef ORDERD_ARENA_H
#define ORDERD_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_create(size_t chunk_size); /* chunk_size in bytes, > 0 */
void arena_destroy(struct arena **arena);

void *arena_alloc(struct arena *arena, size_t size); /* never NULL */
void *arena_zalloc(struct arena *arena, size_t size);
char *arena_strndup(struct arena *arena, const char *bytes, size_t len);

/* Everything taken is gone; one chunk is kept for the next round. */
void arena_reset(struct arena *arena);

#endif
