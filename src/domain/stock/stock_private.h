/* Inside of the stock module: one script call, from typed request to typed answer. */
#ifndef ORDERD_STOCK_PRIVATE_H
#define ORDERD_STOCK_PRIVATE_H

#include "orderd/stock.h"

#define STOCK_ARGS_MAX 8

/* A call and the memory that its slices point into; must not move once begun. */
struct stock_call {
    struct stock_keys keys;
    char state_key[STOCK_STATE_KEY_MAX];
    struct slice key_slices[STOCK_KEY_COUNT + 1];
    size_t key_count;
    struct slice args[STOCK_ARGS_MAX];
    size_t arg_count;
    char digits[STOCK_ARGS_MAX][24];
};

void stock_call_shard(struct stock_call *call, int64_t activity, int shard);
void stock_call_state(struct stock_call *call, int64_t activity); /* one key more, after those of the shard */
void stock_call_text(struct stock_call *call, struct slice text);
void stock_call_number(struct stock_call *call, int64_t number);

/* How one script's requests are built and its answers read. read may count on a list of at least `elements` whose
 * first is a code of the table. */
struct stock_shape {
    enum stock_script script;
    size_t elements;
    size_t request_size, answer_size;
    void (*build)(struct stock_call *call, const void *request);
    void (*read)(const struct kv_reply *reply, void *answer);
};

ORDERD_MUST_CHECK bool stock_call_many(struct kv *kv, const struct stock_shape *shape, const void *requests,
                                       size_t count, void *answers, struct error *errs, struct error *err);
ORDERD_MUST_CHECK bool stock_call_one(struct kv *kv, const struct stock_shape *shape, const void *request, void *answer,
                                      struct error *err);

int64_t stock_answer_number(const struct kv_reply *reply, size_t i);
/* Reads entry->value; false: not in our format, and parts of the entry may be filled. */
bool stock_entry_parse_held(struct stock_entry *entry);
bool stock_entry_parse_gone(struct stock_entry *entry);

void stock_answer_note(char note[STOCK_NOTE_MAX], const struct kv_reply *reply, size_t i);

#endif
