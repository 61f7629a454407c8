#include "stock_private.h"

#include "orderd/check.h"
#include "orderd/clock.h"

/* One decimal number and the '|' after it, where more follow. */
static bool take_number(struct slice *text, bool last, int64_t *out)
{
    size_t i = 0;
    int64_t value = 0;

    for (; i < text->len && text->ptr[i] >= '0' && text->ptr[i] <= '9'; i++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text->ptr[i] - '0', &value))
            return false;
    }
    if (i == 0 || last != (i == text->len) || (!last && text->ptr[i] != '|'))
        return false;
    *text = (struct slice){text->ptr + i + !last, text->len - i - !last};
    *out = value;
    return true;
}

bool stock_entry_parse_held(struct stock_entry *entry)
{
    struct slice rest = entry->value;

    return take_number(&rest, false, &entry->user) && take_number(&rest, false, &entry->user_seq) &&
           take_number(&rest, false, &entry->quantity) && take_number(&rest, false, &entry->amount) &&
           take_number(&rest, false, &entry->epoch) && take_number(&rest, true, &entry->reserved_at);
}

bool stock_entry_parse_gone(struct stock_entry *entry)
{
    for (int gone = STOCK_GONE_NONE + 1; gone < STOCK_GONE_COUNT; gone++) {
        if (slice_is(entry->value, stock_gone_name((enum stock_gone)gone))) {
            entry->gone = (enum stock_gone)gone;
            return true;
        }
    }
    return false;
}

static struct stock_entry entry_of(int key, struct slice order_no, struct slice value)
{
    struct stock_entry entry = {.order_no = order_no, .value = value};

    if (key == STOCK_KEY_HELD ? stock_entry_parse_held(&entry) : stock_entry_parse_gone(&entry))
        entry.valid = true;
    else
        entry = (struct stock_entry){.order_no = order_no, .value = value};
    return entry;
}

struct page {
    const struct stock_walk *walk;
    struct stock_keys keys;
    struct stock_cursor *cursor;
    bool (*entry)(const struct stock_entry *entry, void *data);
    void *data;
    bool ended; /* by entry */
};

static bool show(struct page *p, const struct kv_reply *reply, struct error *err)
{
    const struct kv_reply *list = kv_reply_at(reply, 1);
    struct slice cursor;

    if (kv_reply_count(reply) != 2 || kv_reply_kind(list) != KV_LIST)
        return error_set(err, ERROR_KV_DATA, "HSCAN %s: unexpected shape of answer", p->keys.text[p->walk->key]);
    cursor = kv_reply_text(kv_reply_at(reply, 0));
    if (cursor.len == 0 || cursor.len >= sizeof p->cursor->at)
        return error_set(err, ERROR_KV_DATA, "HSCAN %s: unexpected cursor", p->keys.text[p->walk->key]);
    memcpy(p->cursor->at, cursor.ptr, cursor.len);
    p->cursor->at[cursor.len] = '\0';
    p->cursor->end = slice_is(cursor, "0");
    for (size_t i = 0; i + 1 < kv_reply_count(list) && !p->ended; i += 2) {
        struct stock_entry entry =
            entry_of(p->walk->key, kv_reply_text(kv_reply_at(list, i)), kv_reply_text(kv_reply_at(list, i + 1)));
        p->ended = !p->entry(&entry, p->data);
    }
    return true;
}

static bool turn_page(struct kv *kv, struct page *p, struct error *err)
{
    struct strbuf count = STRBUF_INIT;
    struct kv_reply *reply;
    bool ok;

    CHECK(p->walk->key == STOCK_KEY_HELD || p->walk->key == STOCK_KEY_GONE);
    CHECK(p->walk->page >= 1 && p->walk->page <= 10000);
    stock_keys_of(&p->keys, p->walk->activity, p->walk->shard);
    strbuf_add_i64(&count, p->walk->page);
    reply = kv_command(kv,
                       (const struct slice[]){slice_of("HSCAN"),
                                              slice_of(p->keys.text[p->walk->key]),
                                              slice_of(p->cursor->at),
                                              slice_of("COUNT"),
                                              {count.data, count.len}},
                       5, err);
    strbuf_release(&count);
    if (!reply)
        return false;
    ok = show(p, reply, err);
    kv_reply_free(&reply);
    return ok;
}

bool stock_walk(struct kv *kv, const struct stock_walk *walk,
                bool (*entry)(const struct stock_entry *entry, void *data), void *data, struct error *err)
{
    struct stock_cursor cursor = {.at = "0"};
    struct page p = {.walk = walk, .cursor = &cursor, .entry = entry, .data = data};

    while (!p.ended && !cursor.end) {
        if (!turn_page(kv, &p, err))
            return false;
        if (!p.ended && !cursor.end)
            clock_sleep_ms(walk->pause_ms);
    }
    return true;
}

struct whole_page {
    void (*entry)(const struct stock_entry *entry, void *data);
    void *data;
};

static bool show_all(const struct stock_entry *entry, void *data)
{
    const struct whole_page *whole = data;

    whole->entry(entry, whole->data);
    return true;
}

bool stock_walk_page(struct kv *kv, const struct stock_walk *walk, struct stock_cursor *cursor,
                     void (*entry)(const struct stock_entry *entry, void *data), void *data, struct error *err)
{
    struct whole_page whole = {entry, data};
    struct page p = {.walk = walk, .cursor = cursor, .entry = show_all, .data = &whole};

    return turn_page(kv, &p, err);
}
