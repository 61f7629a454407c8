/* A row of the local message table, into which any producer may write: its payload as an effect on the stock, its
 * headers column and topic as a publication. */
#include "../../src/client/broker/outgoing.h"
#include "../../src/flow/relay/relay_private.h"
#include "fuzz.h"
#include "orderd/stock_effect.h"

#define FRAME_MAX_BYTES 131072

static void returns(struct slice payload, struct arena *arena)
{
    struct stock_giveback *list, *back;
    struct strbuf text = STRBUF_INIT;
    size_t count, again;
    struct error err = {0};

    if (!stock_effect_decode(payload, arena, &list, &count, &err)) {
        CHECK(count == 0 && err.code == ERROR_INPUT_INVALID);
        return;
    }
    CHECK(count >= 1 && count <= ORDER_LIST_MAX);
    for (size_t i = 0; i < count; i++)
        CHECK(order_no_valid(list[i].order_no) && list[i].shard >= 0 && list[i].shard < STOCK_SHARDS_MAX &&
              list[i].units_back >= 0 && list[i].units_forfeited >= 0);
    stock_effect_encode(list, count, &text);
    CHECK(stock_effect_decode((struct slice){text.data, text.len}, arena, &back, &again, &err) && again == count);
    for (size_t i = 0; i < count; i++)
        CHECK(slice_equal(back[i].order_no, list[i].order_no) && back[i].units_back == list[i].units_back &&
              back[i].activity == list[i].activity && back[i].epoch == list[i].epoch);
    strbuf_release(&text);
}

static void settles(struct slice payload, struct arena *arena)
{
    struct stock_paid *list;
    size_t count;
    struct error err = {0};

    if (stock_effect_decode_paid(payload, arena, &list, &count, &err)) {
        for (size_t i = 0; i < count; i++)
            CHECK(order_no_valid(list[i].order_no) && list[i].shard >= 0 && list[i].shard < STOCK_SHARDS_MAX);
    } else {
        CHECK(count == 0 && err.code == ERROR_INPUT_INVALID);
    }
}

/* What is prepared, the library can send; or it is too large and says so. */
static void send(const struct publication *p)
{
    static char encoded[2 * FRAME_MAX_BYTES];
    struct outgoing out;
    struct error err;

    if (outgoing_prepare(&out, &p->args, FRAME_MAX_BYTES, &err))
        CHECK(amqp_encode_properties(AMQP_BASIC_CLASS, &out.properties, (amqp_bytes_t){sizeof encoded, encoded}) > 0);
    outgoing_release(&out);
}

static void publication(struct slice topic, struct slice headers)
{
    static struct publication p;
    struct conf conf = {.create_queue = "order.create"};
    struct local_message *m = local_message_create(slice_of("order.create:1"), topic, slice_of("{}"), headers, "owner");
    struct sending s = {.message = m, .kind = effect_of_topic(topic)};
    struct error err = {0};

    if (publication_prepare(&p, &conf, &s, &err))
        send(&p);
    else
        CHECK(err.text[0]);
    publication_release(&p);
    free(m);
}

/* The first byte: how much of the rest is the topic. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t len = fuzz_take_byte(&data, &size);
    struct slice rest = fuzz_slice(data, size);
    struct arena *arena = arena_create(4096);

    len = len < size ? len : size;
    returns(rest, arena);
    settles(rest, arena);
    publication((struct slice){rest.ptr, len}, (struct slice){rest.ptr + len, size - len});
    arena_destroy(&arena);
    return 0;
}
