#include "window.h"

#include "orderd/check.h"

struct slot {
    enum broker_outcome *outcome; /* NULL: settled */
    struct strbuf id;             /* its memory is kept for the next publication in this slot */
    size_t body_size;
    bool returned;
};

struct window {
    uint64_t oldest; /* no sequence below is outstanding */
    uint64_t next;   /* the next publication's */
    uint64_t hint;   /* returns come in publishing order: the search for the next one starts here */
    uint64_t strays;
    size_t pending;
    unsigned size;
    struct slot slots[];
};

struct window *window_create(unsigned size)
{
    struct window *w = check_calloc(1, sizeof *w + size * sizeof w->slots[0]);

    CHECK(size > 0);
    w->oldest = w->next = w->hint = 1;
    w->size = size;
    return w;
}

void window_destroy(struct window **window)
{
    struct window *w = *window;

    *window = NULL;
    if (!w)
        return;
    for (unsigned i = 0; i < w->size; i++)
        strbuf_release(&w->slots[i].id);
    free(w);
}

static struct slot *slot_of(struct window *w, uint64_t sequence)
{
    return &w->slots[sequence % w->size];
}

bool window_full(const struct window *w)
{
    return w->next - w->oldest == w->size;
}

size_t window_pending(const struct window *w)
{
    return w->pending;
}

uint64_t window_strays(const struct window *w)
{
    return w->strays;
}

void window_add(struct window *w, struct slice message_id, size_t body_size, enum broker_outcome *outcome)
{
    struct slot *s = slot_of(w, w->next);

    CHECK(!window_full(w) && outcome);
    s->outcome = outcome;
    s->returned = false;
    s->body_size = body_size;
    strbuf_reset(&s->id);
    strbuf_add_slice(&s->id, message_id);
    *outcome = BROKER_OUTCOME_PENDING;
    w->next++;
    w->pending++;
}

static void finish(struct window *w, struct slot *s, enum broker_outcome outcome)
{
    *s->outcome = s->returned ? BROKER_OUTCOME_RETURNED : outcome;
    s->outcome = NULL;
    w->pending--;
}

static void advance(struct window *w)
{
    while (w->oldest < w->next && !slot_of(w, w->oldest)->outcome)
        w->oldest++;
}

void window_settle(struct window *w, uint64_t sequence, bool multiple, bool positive)
{
    uint64_t from = multiple ? w->oldest : sequence;
    size_t before = w->pending;

    if (sequence >= w->oldest && sequence < w->next) {
        for (uint64_t n = from; n <= sequence; n++) {
            struct slot *s = slot_of(w, n);

            if (s->outcome)
                finish(w, s, positive ? BROKER_OUTCOME_CONFIRMED : BROKER_OUTCOME_REFUSED);
        }
        advance(w);
    }
    if (w->pending == before)
        w->strays++;
}

static bool mark_returned(struct window *w, uint64_t from, uint64_t to, struct slice message_id)
{
    for (uint64_t n = from; n < to; n++) {
        struct slot *s = slot_of(w, n);

        if (s->outcome && !s->returned && slice_equal((struct slice){s->id.data, s->id.len}, message_id)) {
            s->returned = true;
            w->hint = n + 1;
            return true;
        }
    }
    return false;
}

void window_return(struct window *w, struct slice message_id)
{
    uint64_t hint = w->hint > w->oldest ? w->hint : w->oldest;

    if (!mark_returned(w, hint, w->next, message_id) && !mark_returned(w, w->oldest, hint, message_id))
        w->strays++;
}

void window_abandon(struct window *w)
{
    for (; w->oldest < w->next; w->oldest++) {
        struct slot *s = slot_of(w, w->oldest);

        if (s->outcome)
            finish(w, s, BROKER_OUTCOME_UNKNOWN);
    }
}

static size_t largest(struct window *w)
{
    size_t size = 0;

    for (uint64_t n = w->oldest; n < w->next; n++) {
        if (slot_of(w, n)->outcome && slot_of(w, n)->body_size > size)
            size = slot_of(w, n)->body_size;
    }
    return size;
}

void window_too_large(struct window *w, uint64_t size)
{
    size_t most = largest(w);
    uint64_t least = size == 0 || size > most ? most : size;

    for (uint64_t n = w->oldest; n < w->next; n++) {
        struct slot *s = slot_of(w, n);

        if (s->outcome && s->body_size >= least)
            finish(w, s, BROKER_OUTCOME_TOO_LARGE);
    }
    advance(w);
}
