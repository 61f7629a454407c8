/* What a Redis says, or whoever listens in its place: from the bytes on the socket to the typed answers of the scripts.
 */
#include "orderd/stock.h"
#include "redis_server.h"

#define ACTIVITY INT64_C(1001)
#define CALLS    3

/* Logged in, and the script is there. */
static const char *const greetings[] = {"+OK\r\n", "$40\r\n0123456789012345678901234567890123456789\r\n", NULL};

/* ---- what is asked, and whether there was an answer ---- */

static struct error errs[CALLS], err;

static bool deduct(struct kv *kv)
{
    struct stock_order orders[CALLS];
    struct stock_deducted out[CALLS];

    for (int i = 0; i < CALLS; i++)
        orders[i] = (struct stock_order){ACTIVITY, i, slice_of("A1"), 1, 1, 100, 1};
    if (!stock_deduct_many(kv, orders, CALLS, out, errs, &err))
        return false;
    for (int i = 0; i < CALLS; i++) {
        if (errs[i].code == ERROR_NONE)
            CHECK(stock_code_name(STOCK_SCRIPT_DEDUCT, out[i].code) && memchr(out[i].note, '\0', STOCK_NOTE_MAX));
    }
    return true;
}

static bool giveback(struct kv *kv)
{
    struct stock_giveback orders[CALLS];
    struct stock_returned out[CALLS];

    for (int i = 0; i < CALLS; i++)
        orders[i] = (struct stock_giveback){.activity = ACTIVITY, .order_no = slice_of("A1"), .units_back = 1};
    return stock_return_many(kv, orders, CALLS, out, errs, &err);
}

static bool settle(struct kv *kv)
{
    const struct stock_paid order = {ACTIVITY, 0, slice_of("A1")};
    struct stock_settled out;

    if (!stock_settle(kv, &order, &out, &err))
        return false;
    CHECK(stock_code_name(STOCK_SCRIPT_SETTLE, out.code));
    return true;
}

static bool adopt(struct kv *kv)
{
    const struct stock_row row = {.activity = ACTIVITY, .order_no = slice_of("A1"), .user = 1, .quantity = 1};
    struct stock_adopted out;

    return stock_adopt(kv, &row, &out, &err);
}

static bool prepare(struct kv *kv)
{
    const struct stock_plan plan = {.activity = ACTIVITY, .cap = 10, .epoch = 1, .limit = 1};
    struct stock_preheated out;

    return stock_preheat(kv, &plan, &out, &err) && stock_verify(kv, &plan, &err);
}

static bool rebuild(struct kv *kv)
{
    const struct stock_plan plan = {.activity = ACTIVITY, .cap = 10, .epoch = 1, .limit = 1};
    struct stock_rebuilt out;

    return stock_rebuild(kv, &plan, &out, &err);
}

static bool audit(struct kv *kv)
{
    struct stock_audit out[CALLS];

    if (!stock_audit_many(kv, ACTIVITY, CALLS, out, errs, &err))
        return false;
    for (int i = 0; i < CALLS; i++) {
        if (errs[i].code == ERROR_NONE)
            (void)stock_audit_balances(&out[i]);
    }
    return true;
}

static bool change(struct kv *kv)
{
    const struct stock_reclaim reclaim = {ACTIVITY, 0, 1, 1, 1};
    const struct stock_restock restock = {ACTIVITY, 0, 10, 20, 1};
    const struct stock_extend extend = {.activity = ACTIVITY, .expire_at = 1, .epoch = 1};
    struct stock_reclaimed reclaimed;
    struct stock_restocked restocked;
    struct stock_extended extended;

    return stock_reclaim(kv, &reclaim, &reclaimed, &err) && stock_restock(kv, &restock, &restocked, &err) &&
           stock_extend(kv, &extend, &extended, &err);
}

static bool tell(struct kv *kv)
{
    const struct stock_pause pause = {.activity = ACTIVITY, .paused = true, .epoch = 1};
    const struct stock_announcement announcement = {.activity = ACTIVITY, .state = "running", .epoch = 1, .shards = 1};
    struct stock_paused paused;
    struct stock_announced announced;

    return stock_pause(kv, &pause, &paused, &err) && stock_announce(kv, &announcement, &announced, &err);
}

static bool look(struct kv *kv)
{
    struct stock_sought orders[CALLS];
    struct stock_seen out[CALLS];
    int64_t now;

    for (int i = 0; i < CALLS; i++)
        orders[i] = (struct stock_sought){i / 2, slice_of("A1"), i, 0};
    if (!stock_look(kv, ACTIVITY, orders, CALLS, out, &now, &err))
        return false;
    for (int i = 0; i < CALLS; i++)
        CHECK(out[i].gone >= STOCK_GONE_NONE && out[i].gone < STOCK_GONE_COUNT && (out[i].held || !out[i].held_valid));
    return true;
}

static bool take_entry(const struct stock_entry *entry, void *left)
{
    CHECK(!entry->valid || (entry->quantity >= 0 && entry->user >= 0));
    return --*(int *)left > 0;
}

static bool walk(struct kv *kv)
{
    const struct stock_walk what = {.activity = ACTIVITY, .key = STOCK_KEY_HELD, .page = 10};
    int left = 100;

    return stock_walk(kv, &what, take_entry, &left, &err);
}

static bool remove_all(struct kv *kv)
{
    const struct stock_removal what = {.activity = ACTIVITY, .shards = 2, .epoch = 1, .page = 10};
    struct stock_removal_done done;

    return stock_remove_all(kv, &what, &done, &err);
}

static bool (*const questions[])(struct kv *) = {deduct, giveback, settle, adopt, prepare, rebuild,
                                                 audit,  change,   tell,   look,  walk,    remove_all};
#define QUESTIONS (sizeof questions / sizeof *questions)

/* The first byte: what is asked, and whether the login went well; the second: in what pieces the server speaks. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t what = fuzz_take_byte(&data, &size), piece = fuzz_take_byte(&data, &size);
    struct conf conf = {
        .redis_host = "redis", .redis_port = 6379, .redis_connect_timeout = 60000, .redis_command_timeout = 60000};
    struct kv *kv;

    server.greetings = what & 0x80 ? greetings + 2 : greetings;
    server.input = fuzz_slice(data, size);
    server.piece = piece ? piece : 1 << 20;
    error_clear(&err);
    kv = kv_open(&conf, "fuzz", &err);
    if (!kv || !questions[(what & 0x7f) % QUESTIONS](kv))
        CHECK(err.code != ERROR_NONE && err.text[0]);
    kv_close(&kv);
    return 0;
}
