#include "book.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

void book_init(struct book *book, int64_t activity, int64_t sku)
{
    *book = (struct book){.activity = activity, .sku = sku};
}

void book_release(struct book *book)
{
    idset_release(&book->ids);
    free(book->entries);
    *book = (struct book){0};
}

uint32_t book_original(const struct book *book, struct slice order_no)
{
    size_t len = order_no.len;
    uint32_t index;

    while (len > 0 && order_no.ptr[len - 1] >= '0' && order_no.ptr[len - 1] <= '9')
        len--;
    if (len == order_no.len || len < 3 || memcmp(order_no.ptr + len - 2, "-r", 2) != 0)
        return IDSET_NONE;
    index = idset_find(&book->ids, (struct slice){order_no.ptr, len - 2});
    return index != IDSET_NONE && book->entries[index].how != BOOK_NOT_ACCEPTED ? index : IDSET_NONE;
}

static void add_seen(struct book *book, uint32_t index, uint32_t original)
{
    struct book_entry *e = &book->entries[index];

    *e = (struct book_entry){0};
    if (original != IDSET_NONE) {
        const struct book_entry *o = &book->entries[original];

        *e = (struct book_entry){
            .user = o->user, .amount = o->amount, .quantity = o->quantity, .how = BOOK_REPLAYED, .shard = o->shard};
    }
    book->accepted[e->how]++;
}

uint32_t book_see(struct book *book, struct slice order_no)
{
    bool fresh;
    uint32_t index = idset_add(&book->ids, order_no, &fresh);

    if (fresh && index >= book->cap) {
        book->cap = book->cap ? book->cap * 2 : 512;
        book->entries = check_realloc(book->entries, book->cap * sizeof *book->entries);
    }
    if (fresh)
        add_seen(book, index, book_original(book, order_no));
    return index;
}

uint32_t book_accept(struct book *book, const struct order *order, enum book_how how)
{
    uint32_t index = book_see(book, slice_of(order->order_no));
    struct book_entry *e = &book->entries[index];

    if (e->how != BOOK_NOT_ACCEPTED && e->how != BOOK_REPLAYED)
        return IDSET_NONE;
    book->accepted[e->how]--;
    *e = (struct book_entry){
        .user = order->user_id,
        .amount = order->amount,
        .reserved_at = order->reserved_at,
        .quantity = order->quantity,
        .epoch = order->epoch,
        .user_seq = (uint16_t)order->user_seq,
        .shard = (uint16_t)order->shard,
        .how = (uint8_t)how,
    };
    book->accepted[how]++;
    book->accepted_units += order->quantity;
    return index;
}

void book_order(const struct book *book, uint32_t index, struct order *out)
{
    const struct book_entry *e = &book->entries[index];
    const char *order_no = idset_text(&book->ids, index);

    CHECK(e->how != BOOK_NOT_ACCEPTED && strlen(order_no) <= ORDER_NO_MAX);
    *out = (struct order){
        .activity_id = book->activity,
        .user_id = e->user,
        .sku_id = book->sku,
        .user_seq = e->user_seq,
        .quantity = e->quantity,
        .amount = e->amount,
        .shard = e->shard,
        .epoch = e->epoch,
        .reserved_at = e->reserved_at,
    };
    memcpy(out->order_no, order_no, strlen(order_no) + 1);
}

void book_forget_seen(struct book *book)
{
    for (size_t i = 0; i < book->ids.count; i++) {
        book->entries[i].seen = 0;
        book->entries[i].row_quantity = 0;
        book->entries[i].held_quantity = 0;
    }
}
