#include "tally.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "orderd/check.h"

struct tally {
    UT_hash_handle hh;
    int64_t count;
    size_t len;
    char name[];
};

int64_t tally_add(struct tally **tally, struct slice name)
{
    struct tally *entry;

    HASH_FIND(hh, *tally, name.ptr, name.len, entry);
    if (!entry) {
        entry = check_calloc(1, sizeof *entry + name.len + 1);
        memcpy(entry->name, name.ptr, name.len);
        entry->len = name.len;
        HASH_ADD_KEYPTR(hh, *tally, entry->name, name.len, entry);
    }
    return ++entry->count;
}

void tally_free(struct tally **tally)
{
    struct tally *entry, *next;

    HASH_ITER(hh, *tally, entry, next)
    {
        HASH_DEL(*tally, entry);
        free(entry); /* NOLINT(clang-analyzer-unix.Malloc): as in activity_cache.c */
    }
}

void tally_each(const struct tally *tally, tally_fn on_each, void *arg)
{
    for (const struct tally *entry = tally; entry; entry = entry->hh.next)
        on_each(arg, (struct slice){entry->name, entry->len}, entry->count);
}
