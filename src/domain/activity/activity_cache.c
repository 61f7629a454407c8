/* What a lane remembers of activities, by id. */
#include "orderd/activity.h"

#include <stdlib.h>
#include <uthash.h>

#include "orderd/check.h"
#include "orderd/clock.h"

/* More activities than any sale has at once. Past it, those that nobody asked for since the last loading are forgotten;
 * the others belong to the batch in hand, whose orders would be taken for orders of no activity. */
#define REMEMBERED_MAX 2048

struct entry {
    struct activity activity; /* .id is the key */
    int64_t read_at;          /* monotonic ms */
    bool asked_for;           /* found since the last loading, or loaded by it */
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

/* The one state that turns orders away and may end at any moment is believed only in the batch that read it. */
static bool good_for(const struct entry *entry, int64_t max_age_ms)
{
    if (max_age_ms == INT64_MAX)
        return true;
    return entry->activity.state != ACTIVITY_REVIEW && clock_mono_ms() - entry->read_at <= max_age_ms;
}

const struct activity *activity_cache_find(struct activity_cache *cache, int64_t id, int64_t max_age_ms)
{
    struct entry *entry = find(cache, id);

    if (!entry || !good_for(entry, max_age_ms))
        return NULL;
    entry->asked_for = true;
    return &entry->activity;
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
    entry->asked_for = true;
}

/* Begins the use anew for those that stay. */
static void make_room(struct activity_cache *cache)
{
    bool full = HASH_COUNT(cache->entries) >= REMEMBERED_MAX;
    struct entry *entry, *next;

    HASH_ITER(hh, cache->entries, entry, next)
    {
        if (full && !entry->asked_for)
            forget(cache, entry);
        else
            entry->asked_for = false;
    }
}

bool activity_cache_load(struct activity_cache *cache, struct db *db, const int64_t *ids, size_t count,
                         struct error *err)
{
    make_room(cache);
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = find(cache, ids[i]);

        if (entry)
            forget(cache, entry);
    }
    return activity_read(db, ids, count, remember, cache, err);
}
