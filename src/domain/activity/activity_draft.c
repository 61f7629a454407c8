#include "activity_draft.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/order.h"
#include "orderd/units.h"

static bool title_valid(struct slice title, struct error *err)
{
    json_t *utf8 = json_stringn(title.ptr, title.len); /* NULL for what is not UTF-8 */
    size_t characters = 0;
    bool clean = utf8 != NULL;

    json_decref(utf8);
    for (size_t i = 0; i < title.len; i++) {
        unsigned char byte = (unsigned char)title.ptr[i];

        characters += (byte & 0xc0) != 0x80;
        clean = clean && byte >= ' ' && byte != 0x7f;
    }
    return (clean && characters >= 1 && characters <= ACTIVITY_TITLE_MAX) ||
           error_set(err, ERROR_INPUT_INVALID,
                     "the title is not 1 to %d characters of UTF-8 without control characters", ACTIVITY_TITLE_MAX);
}

static bool currency_valid(struct slice currency, struct error *err)
{
    bool good = currency.len == 3;

    for (size_t i = 0; i < currency.len; i++)
        good = good && currency.ptr[i] >= 'A' && currency.ptr[i] <= 'Z';
    return good || error_set(err, ERROR_INPUT_INVALID, "the currency is not three capital letters such as CNY");
}

static bool within(const char *what, int64_t n, int64_t min, int64_t max, struct error *err)
{
    return (n >= min && n <= max) ||
           error_set(err, ERROR_INPUT_INVALID, "%s is %" PRId64 " (expected %" PRId64 " to %" PRId64 ")", what, n, min,
                     max);
}

static bool numbers_valid(const struct activity_draft *d, struct error *err)
{
    if (!within("the activity's number", d->id, 1, INT64_MAX, err) ||
        !within("the SKU", d->sku_id, 1, INT64_MAX, err) ||
        !within("the price", d->unit_price, 0, ORDER_AMOUNT_MAX, err) ||
        !within("the stock", d->total_stock, 1, ACTIVITY_STOCK_MAX, err) ||
        !within("the limit per user", d->per_user_limit, 1, ACTIVITY_LIMIT_MAX, err) ||
        !within("the number of shards", d->shards, 1, ACTIVITY_SHARDS_MAX, err) ||
        !within("the payment time-out", d->pay_timeout_ms, ACTIVITY_PAY_MIN_MS, ACTIVITY_PAY_MAX_MS, err))
        return false;
    if (d->shards > d->total_stock)
        return error_set(err, ERROR_INPUT_INVALID,
                         "%" PRId64 " units are less than one for each of %" PRId64
                         " shards; a buyer whose shard has none could never buy: take fewer shards",
                         d->total_stock, d->shards);
    if (d->unit_price > ORDER_AMOUNT_MAX / d->per_user_limit)
        return error_set(err, ERROR_INPUT_INVALID,
                         "the price of %" PRId64 " units, the most that one user may buy, is over %" PRId64,
                         d->per_user_limit, ORDER_AMOUNT_MAX);
    return true;
}

static int64_t instant(struct activity_when when, int64_t created_at)
{
    return when.relative ? created_at + when.ms : when.ms;
}

static bool window_valid(const struct activity *a, struct error *err)
{
    char starts[32], ends[32];

    clock_format_iso(starts, sizeof starts, a->starts_at);
    clock_format_iso(ends, sizeof ends, a->ends_at);
    return a->ends_at > a->starts_at ||
           error_set(err, ERROR_INPUT_INVALID, "the sale would end at %s, not after its start at %s", ends, starts);
}

bool activity_draft_row(const struct activity_draft *d, int64_t created_at, struct activity *out, struct error *err)
{
    if (!numbers_valid(d, err) || !title_valid(d->title, err) || !currency_valid(d->currency, err))
        return false;
    *out = (struct activity){
        .id = d->id,
        .sku_id = d->sku_id,
        .unit_price = d->unit_price,
        .total_stock = d->total_stock,
        .available = d->total_stock,
        .pay_timeout_ms = d->pay_timeout_ms,
        .starts_at = instant(d->starts, created_at),
        .ends_at = instant(d->ends, created_at),
        .per_user_limit = (int32_t)d->per_user_limit,
        .shards = (int32_t)d->shards,
        .free_amount = d->free_amount,
        .rebuy_after_release = d->rebuy_after_release,
        .reservations = d->reservations,
        .created_at = created_at,
        .state = ACTIVITY_REVIEW,
    };
    memcpy(out->title, d->title.ptr, d->title.len);
    memcpy(out->currency, d->currency.ptr, d->currency.len);
    return window_valid(out, err);
}

static bool differs(const struct activity *a, const char *what, const char *there, const char *wanted,
                    struct error *err)
{
    return error_set(err, ERROR_REFUSED,
                     "activity %" PRId64 " exists with %s %.80s instead of %.80s; choose another number, or the values "
                     "that `orderctl activity show %" PRId64 "` shows",
                     a->id, what, there, wanted, a->id);
}

static bool same_number(const struct activity *a, const char *what, int64_t there, int64_t wanted, struct error *err)
{
    char text[2][24];

    if (there == wanted)
        return true;
    snprintf(text[0], sizeof text[0], "%" PRId64, there);
    snprintf(text[1], sizeof text[1], "%" PRId64, wanted);
    return differs(a, what, text[0], text[1], err);
}

static bool same_text(const struct activity *a, const char *what, const char *there, const char *wanted,
                      struct error *err)
{
    return strcmp(there, wanted) == 0 || differs(a, what, there, wanted, err);
}

static bool same_time(const struct activity *a, const char *what, int64_t there, int64_t wanted, struct error *err)
{
    char text[2][32];

    clock_format_iso(text[0], sizeof text[0], there);
    clock_format_iso(text[1], sizeof text[1], wanted);
    return there == wanted || differs(a, what, text[0], text[1], err);
}

static bool same_flag(const struct activity *a, const char *what, bool there, bool wanted, struct error *err)
{
    return there == wanted || differs(a, what, there ? "on" : "off", wanted ? "on" : "off", err);
}

static bool same_timeout(const struct activity *a, int64_t there, int64_t wanted, struct error *err)
{
    char text[2][24];

    units_format_duration(text[0], sizeof text[0], there);
    units_format_duration(text[1], sizeof text[1], wanted);
    return there == wanted || differs(a, "payment time-out", text[0], text[1], err);
}

bool activity_draft_is(const struct activity *wanted, const struct activity *there, struct error *err)
{
    const struct activity *w = wanted, *t = there;

    return same_text(t, "title", t->title, w->title, err) && same_number(t, "SKU", t->sku_id, w->sku_id, err) &&
           same_number(t, "price", t->unit_price, w->unit_price, err) &&
           same_text(t, "currency", t->currency, w->currency, err) &&
           same_number(t, "stock", t->total_stock, w->total_stock, err) &&
           same_number(t, "limit per user", t->per_user_limit, w->per_user_limit, err) &&
           same_number(t, "shards", t->shards, w->shards, err) &&
           same_timeout(t, t->pay_timeout_ms, w->pay_timeout_ms, err) &&
           same_time(t, "start", t->starts_at, w->starts_at, err) && same_time(t, "end", t->ends_at, w->ends_at, err) &&
           same_flag(t, "free amounts", t->free_amount, w->free_amount, err) &&
           same_flag(t, "buying again after release", t->rebuy_after_release, w->rebuy_after_release, err) &&
           same_flag(t, "reservations", t->reservations, w->reservations, err);
}
