/* What a lane remembers of activities, by id. */
#include "orderd/activity.h"

#include <stdlib.h>
#include <uthash.h>

#include "orderd/check.h"
#include "orderd/clock.h"

/* More activities than any sale has at once; past it the memory is simply begun anew. */
#define REMEMBERED_MAX 2048

struct entry {
    struct activity activity; /* .id is the key */
    int64_t read_at;          /* monotonic ms */
    UT_hash_handle hh;
};

struct activity_cache {
    struct entry *entries;
};

struct activity_cache *activity_cache_create(void)
{
    return check_calloc(1, sizeof(struct activity_cache));
}

static struct entry *find(struct activity_cache *cache, int64_t id)
{
    struct entry *entry;

    HASH_FIND(hh, cache->entries, &id, sizeof id, entry);
    return entry;
}

static void forget(struct activity_cache *cache, struct entry *entry)
{
    HASH_DEL(cache->entries, entry);
    free(entry); /* NOLINT(clang-analyzer-unix.Malloc): the analyzer loses track in uthash's list surgery */
}

static void forget_all(struct activity_cache *cache)
{
    while (cache->entries)
        forget(cache, cache->entries);
}

void activity_cache_destroy(struct activity_cache **cache)
{
    if (!*cache)
        return;
    forget_all(*cache);
    free(*cache);
    *cache = NULL;
}

const struct activity *activity_cache_find(struct activity_cache *cache, int64_t id, int64_t max_age_ms)
{
    const struct entry *entry = find(cache, id);

    return entry && clock_mono_ms() - entry->read_at <= max_age_ms ? &entry->activity : NULL;
}

static void remember(void *arg, const struct activity *activity)
{
    struct activity_cache *cache = arg;
    struct entry *entry = find(cache, activity->id);

    if (entry) {
        entry->activity = *activity;
    } else {
        entry = check_calloc(1, sizeof *entry);
        entry->activity = *activity;
        HASH_ADD(hh, cache->entries, activity.id, sizeof entry->activity.id, entry);
    }
    entry->read_at = clock_mono_ms();
}

bool activity_cache_load(struct activity_cache *cache, struct db *db, const int64_t *ids, size_t count,
                         struct error *err)
{
    if (HASH_COUNT(cache->entries) + count > REMEMBERED_MAX)
        forget_all(cache);
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = find(cache, ids[i]);

        if (entry)
            forget(cache, entry);
    }
    return activity_read(db, ids, count, remember, cache, err);
}
