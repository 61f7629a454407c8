#include "balance_private.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

void page_begin(struct page *page)
{
    HASH_CLEAR(hh, page->by_no);
    page->count = 0;
}

void page_release(struct page *page)
{
    HASH_CLEAR(hh, page->by_no);
    free(page->list);
    *page = (struct page){0};
}

struct subject *page_find(const struct page *page, struct slice order_no)
{
    struct subject *found;

    HASH_FIND(hh, page->by_no, order_no.ptr, order_no.len, found);
    return found;
}

static void index_one(struct page *page, struct subject *s)
{
    HASH_ADD_KEYPTR(hh, page->by_no, s->order_no, strlen(s->order_no), s);
}

/* The index points into the list, so it is made anew where that moves. */
static void grow(struct page *page)
{
    HASH_CLEAR(hh, page->by_no);
    page->room = page->room ? page->room * 2 : 256;
    page->list = check_realloc(page->list, page->room * sizeof *page->list);
    for (size_t i = 0; i < page->count; i++)
        index_one(page, &page->list[i]);
}

struct subject *page_add(struct page *page, struct slice order_no)
{
    struct subject *s;

    if (!order_no_valid(order_no) || page_find(page, order_no))
        return NULL;
    if (page->count == page->room)
        grow(page);
    s = &page->list[page->count++];
    *s = (struct subject){.sent_age_ms = INT64_MAX};
    memcpy(s->order_no, order_no.ptr, order_no.len);
    index_one(page, s);
    return s;
}
