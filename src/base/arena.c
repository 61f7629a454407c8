#include "orderd/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

struct chunk {
    struct chunk *older;
    size_t size, used;
    alignas(max_align_t) char bytes[];
};

struct arena {
    size_t chunk_size;
    struct chunk *newest;
};

static void add_chunk(struct arena *arena, size_t size)
{
    struct chunk *c = check_malloc(sizeof *c + size);

    c->older = arena->newest;
    c->size = size;
    c->used = 0;
    arena->newest = c;
}

struct arena *arena_create(size_t chunk_size)
{
    struct arena *arena = check_calloc(1, sizeof *arena);

    arena->chunk_size = chunk_size;
    add_chunk(arena, chunk_size);
    return arena;
}

void arena_destroy(struct arena **arena)
{
    if (!*arena)
        return;
    arena_reset(*arena);
    free((*arena)->newest);
    free(*arena);
    *arena = NULL;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    const size_t unit = alignof(max_align_t);
    struct chunk *c = arena->newest;
    void *p;

    size = (size + unit - 1) / unit * unit;
    if (size > c->size - c->used) {
        add_chunk(arena, size > arena->chunk_size ? size : arena->chunk_size);
        c = arena->newest;
    }
    p = c->bytes + c->used;
    c->used += size;
    return p;
}

void *arena_zalloc(struct arena *arena, size_t size)
{
    return memset(arena_alloc(arena, size), 0, size);
}

char *arena_strndup(struct arena *arena, const char *bytes, size_t len)
{
    char *p = arena_alloc(arena, len + 1);

    if (len)
        memcpy(p, bytes, len);
    p[len] = '\0';
    return p;
}

void arena_reset(struct arena *arena)
{
    /* The oldest chunk has chunk_size bytes and stays. */
    while (arena->newest->older) {
        struct chunk *older = arena->newest->older;
        free(arena->newest);
        arena->newest = older;
    }
    arena->newest->used = 0;
}
