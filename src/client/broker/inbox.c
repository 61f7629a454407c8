#include "inbox.h"

#include "orderd/check.h"

void inbox_reserve(struct inbox *in, size_t extra)
{
    size_t cap = in->count + extra;
    struct broker_delivery *ring;

    if (cap <= in->cap)
        return;
    ring = check_calloc(cap, sizeof *ring);
    for (size_t i = 0; i < in->count; i++)
        ring[i] = in->ring[(in->head + i) % in->cap];
    free(in->ring);
    in->ring = ring;
    in->cap = cap;
    in->head = 0;
}

bool inbox_full(const struct inbox *in)
{
    return in->count == in->cap;
}

void inbox_put(struct inbox *in, const struct broker_delivery *delivery)
{
    CHECK(!inbox_full(in));
    in->ring[(in->head + in->count) % in->cap] = *delivery;
    in->count++;
    in->bytes += delivery->body.len;
}

void inbox_get(struct inbox *in, struct broker_delivery *out)
{
    CHECK(in->count > 0);
    *out = in->ring[in->head];
    in->head = (in->head + 1) % in->cap;
    in->count--;
    in->bytes -= out->body.len;
}

void inbox_release(struct inbox *in)
{
    struct broker_delivery d;

    while (in->count) {
        inbox_get(in, &d);
        broker_delivery_release(&d);
    }
    free(in->ring);
    *in = (struct inbox){0};
}
