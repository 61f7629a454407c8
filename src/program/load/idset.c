#include "idset.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

void idset_release(struct idset *set)
{
    free(set->text);
    free(set->offsets);
    free(set->slots);
    *set = (struct idset){0};
}

const char *idset_text(const struct idset *set, uint32_t index)
{
    CHECK(index < set->count);
    return set->text + set->offsets[index];
}

/* FNV-1a; the last step spreads it over the high bits, because numbers made one after the other differ at the end. */
static uint64_t hash(const char *bytes, size_t len)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return h ^ h >> 32;
}

static bool is(const struct idset *set, uint32_t index, struct slice id)
{
    const char *text = idset_text(set, index);

    return strncmp(text, id.ptr, id.len) == 0 && text[id.len] == '\0';
}

/* The slot that holds id, or the free one where it would go. */
static size_t slot_of(const struct idset *set, struct slice id)
{
    size_t mask = set->slot_count - 1;
    size_t slot = hash(id.ptr, id.len) & mask;

    while (set->slots[slot] && !is(set, set->slots[slot] - 1, id))
        slot = (slot + 1) & mask;
    return slot;
}

uint32_t idset_find(const struct idset *set, struct slice id)
{
    uint32_t found;

    id.len = strnlen(id.ptr, id.len);
    found = set->slot_count ? set->slots[slot_of(set, id)] : 0;

    return found ? found - 1 : IDSET_NONE;
}

/* At most half of the slots are ever taken. */
static void grow_slots(struct idset *set)
{
    if (set->count * 2 < set->slot_count)
        return;
    free(set->slots);
    set->slot_count = set->slot_count ? set->slot_count * 2 : 1024;
    set->slots = check_calloc(set->slot_count, sizeof *set->slots);
    for (size_t i = 0; i < set->count; i++) {
        const char *text = idset_text(set, (uint32_t)i);

        set->slots[slot_of(set, slice_of(text))] = (uint32_t)i + 1;
    }
}

static uint32_t append(struct idset *set, struct slice id)
{
    if (set->count == set->cap) {
        set->cap = set->cap ? set->cap * 2 : 512;
        set->offsets = check_realloc(set->offsets, set->cap * sizeof *set->offsets);
    }
    if (set->text_cap - set->text_len < id.len + 1) {
        set->text_cap = set->text_cap * 2 + id.len + 4096;
        set->text = check_realloc(set->text, set->text_cap);
    }
    CHECK(set->text_len < UINT32_MAX - id.len && set->count < IDSET_NONE - 1);
    set->offsets[set->count] = (uint32_t)set->text_len;
    memcpy(set->text + set->text_len, id.ptr, id.len);
    set->text[set->text_len + id.len] = '\0';
    set->text_len += id.len + 1;
    return (uint32_t)set->count++;
}

uint32_t idset_add(struct idset *set, struct slice id, bool *fresh)
{
    size_t slot;
    bool new_one;

    id.len = strnlen(id.ptr, id.len);
    grow_slots(set);
    slot = slot_of(set, id);
    new_one = set->slots[slot] == 0;
    if (new_one)
        set->slots[slot] = append(set, id) + 1;
    if (fresh)
        *fresh = new_one;
    return set->slots[slot] - 1;
}
