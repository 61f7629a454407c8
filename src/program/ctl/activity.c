#include "activity.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/activity_move.h"
#include "orderd/clock.h"
#include "orderd/units.h"
#include "record.h"

void activity_record(struct strbuf *line, const struct activity *a)
{
    record_number(line, "id", a->id);
    record_text(line, "title", a->title);
    record_number(line, "sku_id", a->sku_id);
    record_number(line, "unit_price", a->unit_price);
    record_text(line, "currency", a->currency);
    record_number(line, "total_stock", a->total_stock);
    record_number(line, "available", a->available);
    record_number(line, "per_user_limit", a->per_user_limit);
    record_number(line, "shards", a->shards);
    record_number(line, "pay_timeout_ms", a->pay_timeout_ms);
    record_bool(line, "free_amount", a->free_amount);
    record_bool(line, "rebuy_after_release", a->rebuy_after_release);
    record_bool(line, "reservations", a->reservations);
    record_text(line, "state", activity_state_name(a->state));
    record_number(line, "epoch", a->epoch);
    record_time(line, "starts_at", a->starts_at);
    record_time(line, "ends_at", a->ends_at);
    record_time(line, "created_at", a->created_at);
    record_time(line, "preheated_at", a->preheated_at);
}

void activity_result(const struct activity *a, const char *result)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_text(&line, "result", result);
    activity_record(&line, a);
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

/* In steps that are shorter than any mysql.read_timeout. */
#define HOLD_TRIES  5
#define HOLD_STEP_S 1

bool activity_hold(const struct ctl *ctl, struct db *db, struct error *err)
{
    bool locked = false;

    for (int i = 0; i < HOLD_TRIES && !locked; i++) {
        print_progress(ctl, "waiting for another change of activity %" PRId64, ctl->operand_id);
        if (!activity_lock(db, ctl->operand_id, HOLD_STEP_S, &locked, err))
            return false;
    }
    print_progress_end();
    return locked || error_set(err, ERROR_DB_CONFLICT,
                               "another command changes activity %" PRId64 " just now; wait for it and run this again",
                               ctl->operand_id);
}

enum tint activity_tint(enum activity_state state)
{
    static const enum tint tints[] = {
        [ACTIVITY_REVIEW] = TINT_CHANGED, [ACTIVITY_SCHEDULED] = TINT_GOOD, [ACTIVITY_RUNNING] = TINT_GOOD,
        [ACTIVITY_ENDED] = TINT_DIM,      [ACTIVITY_SETTLED] = TINT_DIM,
    };

    return tints[state];
}

static void begin_line(const char *name)
{
    printf("  %-14s", name);
}

static void print_time(int64_t ms)
{
    char text[32];

    clock_format_iso(text, sizeof text, ms);
    fputs(text, stdout);
}

static void print_sale(const struct activity *a)
{
    char timeout[24];

    begin_line("sells");
    printf("%" PRId64 " units of SKU %" PRId64 " at %" PRId64 " %s (minor units), at most %" PRId32 " a user\n",
           a->total_stock, a->sku_id, a->unit_price, a->currency, a->per_user_limit);
    begin_line("from");
    print_time(a->starts_at);
    fputs(" to ", stdout);
    print_time(a->ends_at);
    putchar('\n');
    units_format_duration(timeout, sizeof timeout, a->pay_timeout_ms);
    begin_line("to be paid in");
    printf("%s\n", timeout);
}

static void print_rules(const struct activity *a)
{
    begin_line("amounts");
    puts(a->free_amount ? "may differ from price x quantity" : "are price x quantity");
    begin_line("not paid");
    puts(a->rebuy_after_release ? "the buyer may buy again" : "the buyer may not buy again");
    begin_line("stock");
    puts(a->reservations ? "is taken by the deduct script, with reservations"
                         : "is taken by the web tier itself, without reservations");
}

void activity_print(const struct ctl *ctl, const struct activity *a)
{
    printf("activity %" PRId64 "  ", a->id);
    print_word(ctl, a->title, 0, TINT_NONE);
    putchar('\n');
    begin_line("state");
    print_word(ctl, activity_state_name(a->state), 0, activity_tint(a->state));
    printf(", epoch %" PRId32 "\n", a->epoch);
    print_sale(a);
    print_rules(a);
    begin_line("preheated");
    if (a->preheated)
        print_time(a->preheated_at);
    else
        fputs("not yet", stdout);
    printf(", %" PRId32 " shard%s\n", a->shards, a->shards == 1 ? "" : "s");
}
