#include "walk_private.h"

#include <stdlib.h>

#include "orderd/check.h"

/* More activities than anybody sells at once. What is forgotten is only learnt again. */
#define REMEMBERED_MAX 4096
/* Forfeited units of so many shards of an activity are followed at once; the others come later. */
#define SEEN_MAX 1024

/* Forfeited units of a shard that the database had after all. */
struct seen {
    int shard;
    int64_t epoch, forfeited, units;
};

static void forget(struct memory **all, struct memory *memory)
{
    HASH_DEL(*all, memory);
    free(memory->before.list);
    free(memory->now.list);
    free(memory); /* NOLINT(clang-analyzer-unix.Malloc): the analyzer loses track in uthash's list surgery */
}

void memory_free_all(struct memory **all)
{
    while (*all)
        forget(all, *all);
}

struct memory *memory_of(struct memory **all, int64_t activity_id)
{
    struct memory *memory;

    HASH_FIND(hh, *all, &activity_id, sizeof activity_id, memory);
    if (memory)
        return memory;
    if (HASH_COUNT(*all) >= REMEMBERED_MAX)
        memory_free_all(all);
    memory = check_calloc(1, sizeof *memory);
    memory->id = activity_id;
    HASH_ADD(hh, *all, id, sizeof memory->id, memory);
    return memory;
}

void memory_begin(struct memory *memory)
{
    memory->now.count = 0;
}

static const struct seen *find(const struct seen_list *seen, const struct balance_finding *finding)
{
    for (size_t i = 0; i < seen->count; i++) {
        const struct seen *s = &seen->list[i];

        if (s->shard == finding->shard && s->epoch == finding->epoch && s->forfeited == finding->seen)
            return s;
    }
    return NULL;
}

int64_t memory_note(struct memory *memory, const struct balance_finding *finding)
{
    const struct seen *before = find(&memory->before, finding);
    struct seen_list *now = &memory->now;

    if (now->count < SEEN_MAX) {
        now->list = check_realloc(now->list, (now->count + 1) * sizeof *now->list);
        now->list[now->count++] = (struct seen){finding->shard, finding->epoch, finding->seen, finding->units};
    }
    if (!before)
        return 0;
    return before->units < finding->units ? before->units : finding->units;
}

void memory_end(struct memory *memory)
{
    struct seen_list older = memory->before;

    memory->before = memory->now;
    memory->now = older;
}
