/* Stock in Redis: the Lua scripts of one shard behind typed calls.
 *
 * An activity's units are spread over shards; the five keys of a shard share the prefix "sk:{<activity>:<shard>}:" and
 * so one slot of a cluster:
 *
 *     stock    string   units left
 *     held     hash     order_no -> "user|user_seq|quantity|amount|epoch|reserved_at", decimal: the reservation ledger
 *     gone     hash     order_no -> a word of tbl/stock_gone.h
 *     buyers   hash     "user:user_seq" -> "order_no|quantity": a buyer's marks
 *     meta     hash     cap, held, sold, forfeited (units), epoch, limit, starts_at, ends_at, paused, expire_at
 *
 * The head comment of each src/domain/stock/<name>.lua is that script's contract (installed beside the other data, so
 * that web tiers in any language load the same text); arguments here have the ranges given there.
 *
 * Every call is idempotent and may be repeated as it is: after KV_LOST, repeating is the way to learn what happened. A
 * function that answers true had an answer of the script, whatever its code; false is an error of the kv client, or
 * KV_DATA for an answer that no row of tbl/script_code.h explains. None blocks longer than kv.h says. */
#ifndef ORDERD_STOCK_H
#define ORDERD_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/error.h"
#include "orderd/kv.h"
#include "orderd/strbuf.h"

#define STOCK_ORDER_NO_MAX 34 /* 28, and "-r9999" */
#define STOCK_LIMIT_MAX    100
#define STOCK_SHARDS_MAX   1024
#define STOCK_NOTE_MAX     24

enum stock_script {
#define X(script, name) STOCK_SCRIPT_##script,
#include "orderd/tbl/script.h"
#undef X
    STOCK_SCRIPT_COUNT
};

enum stock_code { /* STOCK_DEDUCT_TAKEN ... */
#define X(script, code, number, name, sentence) STOCK_##script##_##code = number,
#include "orderd/tbl/script_code.h"
#undef X
};

enum stock_gone {
    STOCK_GONE_NONE,
#define X(gone, name) STOCK_GONE_##gone,
#include "orderd/tbl/stock_gone.h"
#undef X
    STOCK_GONE_COUNT
};

/* The scripts themselves, e.g. to call one that has no function here. */
const struct kv_script *stock_script(enum stock_script script);

/* Name ("taken") and sentence of a code; NULL where the table has no such row. */
const char *stock_code_name(enum stock_script script, int code);
const char *stock_code_sentence(enum stock_script script, int code);
const char *stock_gone_name(enum stock_gone gone); /* "" for NONE */

/* Where a user's orders of an activity are counted: CRC-32 (that of zlib, PNG and MySQL's CRC32()) of the decimal user
 * id, modulo the number of shards. Part of the contract with web tiers: a buyer's marks must meet in one shard. */
int stock_home_shard(int64_t user, int shards);

/* The keys of one shard, in the order that every script takes them. */
enum { STOCK_KEY_STOCK, STOCK_KEY_HELD, STOCK_KEY_GONE, STOCK_KEY_BUYERS, STOCK_KEY_META, STOCK_KEY_COUNT };

struct stock_keys {
    char text[STOCK_KEY_COUNT][48];
};

void stock_keys_of(struct stock_keys *keys, int64_t activity, int shard);

struct stock_order {
    int64_t activity;
    int shard;
    struct slice order_no;
    int64_t user, quantity, amount, epoch;
};

struct stock_deducted {
    int code;            /* STOCK_DEDUCT_* */
    int user_seq;        /* of the reservation; -1 without one */
    int64_t left;        /* in this shard; -1 where not looked at */
    int64_t reserved_at; /* ms since 1970 by the clock of Redis; 0 without a reservation */
    char note[STOCK_NOTE_MAX];
};

ORDERD_MUST_CHECK bool stock_deduct(struct kv *kv, const struct stock_order *order, struct stock_deducted *out,
                                    struct error *err);

/* Many in one round trip. errs[i].code is ERROR_NONE where out[i] is set. false: the connection failed; repeat all. */
ORDERD_MUST_CHECK bool stock_deduct_many(struct kv *kv, const struct stock_order *orders, size_t count,
                                         struct stock_deducted *out, struct error *errs, struct error *err);

struct stock_giveback {
    int64_t activity;
    int shard;
    struct slice order_no;
    int64_t units_back;      /* counts only for orders without a reservation, where reservations is false */
    int64_t units_forfeited; /* of the order's units, how many do not come back */
    int64_t epoch;           /* the order's */
    bool free_mark;          /* let the buyer buy again */
    bool reservations;       /* false: the activity's web tier takes stock without deduct */
};

struct stock_returned {
    int code; /* STOCK_RETURN_* */
    int64_t back, forfeited, dropped;
    int64_t left;
    char note[STOCK_NOTE_MAX];
};

ORDERD_MUST_CHECK bool stock_return(struct kv *kv, const struct stock_giveback *order, struct stock_returned *out,
                                    struct error *err);
ORDERD_MUST_CHECK bool stock_return_many(struct kv *kv, const struct stock_giveback *orders, size_t count,
                                         struct stock_returned *out, struct error *errs, struct error *err);

struct stock_paid {
    int64_t activity;
    int shard;
    struct slice order_no;
};

struct stock_settled {
    int code; /* STOCK_SETTLE_* */
    int64_t units;
    char note[STOCK_NOTE_MAX];
};

/* A paid order's units go from reserved to sold. */
ORDERD_MUST_CHECK bool stock_settle(struct kv *kv, const struct stock_paid *order, struct stock_settled *out,
                                    struct error *err);
ORDERD_MUST_CHECK bool stock_settle_many(struct kv *kv, const struct stock_paid *orders, size_t count,
                                         struct stock_settled *out, struct error *errs, struct error *err);

enum stock_adopt_as {
    STOCK_ADOPT_AS_PENDING,
    STOCK_ADOPT_AS_PAID,
    STOCK_ADOPT_AS_CLOSED /* only of an order that had been live, where its buyer may not buy again */
};

struct stock_row { /* an order as it stands in the database */
    int64_t activity;
    int shard;
    struct slice order_no;
    int64_t user, user_seq, quantity, amount;
    int64_t epoch;       /* the order's */
    int64_t reserved_at; /* ms since 1970 */
    enum stock_adopt_as as;
};

struct stock_adopted {
    int code; /* STOCK_ADOPT_* */
    int64_t from_forfeited, from_left;
    int64_t left;
    char note[STOCK_NOTE_MAX];
};

/* Makes the shard know an order that Redis forgot. Writes only where something was missing: safe, and cheap, to call
 * for orders that are known. */
ORDERD_MUST_CHECK bool stock_adopt(struct kv *kv, const struct stock_row *row, struct stock_adopted *out,
                                   struct error *err);
ORDERD_MUST_CHECK bool stock_adopt_many(struct kv *kv, const struct stock_row *rows, size_t count,
                                        struct stock_adopted *out, struct error *errs, struct error *err);

struct stock_plan { /* what one shard is preheated with; times in ms since 1970 */
    int64_t activity;
    int shard;
    int64_t cap, epoch, limit;
    int64_t starts_at, ends_at, expire_at;
};

struct stock_preheated {
    int code; /* STOCK_PREHEAT_* */
    int64_t left;
    char note[STOCK_NOTE_MAX];
};

ORDERD_MUST_CHECK bool stock_preheat(struct kv *kv, const struct stock_plan *plan, struct stock_preheated *out,
                                     struct error *err);

struct stock_audit {
    int code; /* STOCK_AUDIT_*; a number that is missing or is none reads as 0 */
#define X(field) int64_t field;
#include "orderd/tbl/stock_audit.h"
#undef X
};

ORDERD_MUST_CHECK bool stock_audit(struct kv *kv, int64_t activity, int shard, struct stock_audit *out,
                                   struct error *err);

/* Shards 0 to shards - 1 of an activity in one round trip; as stock_deduct_many. */
ORDERD_MUST_CHECK bool stock_audit_many(struct kv *kv, int64_t activity, int shards, struct stock_audit *out,
                                        struct error *errs, struct error *err);

/* cap = left + held + sold + forfeited, none of them negative. */
bool stock_audit_balances(const struct stock_audit *audit);

/* After preheat, in a separate step: reads the shard back and compares every value and every TTL with the plan (an
 * expire_at later than the plan's is fine). false with REFUSED and a sentence that names what differs. */
ORDERD_MUST_CHECK bool stock_verify(struct kv *kv, const struct stock_plan *plan, struct error *err);

/* Changes to a shard that lives. epoch is the shard's, as the caller saw it: a late repetition never reaches a shard
 * that was rebuilt since. */
struct stock_reclaim {
    int64_t activity;
    int shard;
    int64_t forfeited_seen; /* compared first: what an audit said when the sum was done */
    int64_t units;
    int64_t epoch;
};

struct stock_reclaimed {
    int code; /* STOCK_RECLAIM_* */
    int64_t forfeited, left;
    char note[STOCK_NOTE_MAX];
};

/* Forfeited units that the database has after all go back on sale. */
ORDERD_MUST_CHECK bool stock_reclaim(struct kv *kv, const struct stock_reclaim *what, struct stock_reclaimed *out,
                                     struct error *err);

struct stock_restock {
    int64_t activity;
    int shard;
    int64_t cap_seen; /* compared first: what an audit said when the new cap was planned */
    int64_t cap;      /* from now on */
    int64_t epoch;
};

struct stock_restocked {
    int code;           /* STOCK_RESTOCK_* */
    int64_t cap, floor; /* floor: the least that the cap can be lowered to now */
    int64_t left;
    char note[STOCK_NOTE_MAX];
};

ORDERD_MUST_CHECK bool stock_restock(struct kv *kv, const struct stock_restock *what, struct stock_restocked *out,
                                     struct error *err);

/* Units go from one shard to another in two steps, each of them once for an id however often it is repeated:
 * activity_transfer.h. The id is that of the row that was written first. */
struct stock_transfer {
    int64_t activity;
    int shard;
    int64_t id;    /* 1 or more */
    int64_t units; /* 1 to 999999999; borrow: 0 only asks */
    int64_t epoch;
    bool come; /* lend: borrow answered ALREADY: they leave even where too few are left, which makes left negative */
};

struct stock_transferred {
    int code;      /* STOCK_LEND_* or STOCK_BORROW_* */
    int64_t units; /* of this transfer that have gone or come, by this call or before */
    int64_t left;
    char note[STOCK_NOTE_MAX];
};

ORDERD_MUST_CHECK bool stock_lend(struct kv *kv, const struct stock_transfer *what, struct stock_transferred *out,
                                  struct error *err);
ORDERD_MUST_CHECK bool stock_borrow(struct kv *kv, const struct stock_transfer *what, struct stock_transferred *out,
                                    struct error *err);

struct stock_extend {
    int64_t activity;
    int shard;
    int64_t ends_at;   /* 0: leave it, e.g. to keep the keys while orders are pending */
    int64_t expire_at; /* an earlier one than the shard's is passed over */
    int64_t epoch;
    int64_t starts_at; /* 0: leave it */
};

struct stock_extended {
    int code; /* STOCK_EXTEND_* */
    int64_t ends_at, expire_at, starts_at;
    char note[STOCK_NOTE_MAX];
};

ORDERD_MUST_CHECK bool stock_extend(struct kv *kv, const struct stock_extend *what, struct stock_extended *out,
                                    struct error *err);
ORDERD_MUST_CHECK bool stock_extend_many(struct kv *kv, const struct stock_extend *what, size_t count,
                                         struct stock_extended *out, struct error *errs, struct error *err);

struct stock_pause {
    int64_t activity;
    int shard;
    bool paused;
    int64_t epoch; /* to pause, also a later one than the shard's */
};

struct stock_paused {
    int code; /* STOCK_PAUSE_* */
    char note[STOCK_NOTE_MAX];
};

ORDERD_MUST_CHECK bool stock_pause(struct kv *kv, const struct stock_pause *what, struct stock_paused *out,
                                   struct error *err);
ORDERD_MUST_CHECK bool stock_pause_many(struct kv *kv, const struct stock_pause *what, size_t count,
                                        struct stock_paused *out, struct error *errs, struct error *err);

/* How an activity stands, for gates and web tiers: a hash beside shard 0 ("sk:{<activity>:0}:state"), and a message on
 * the pub/sub channel of the same name whenever the hash changes. */
struct stock_announcement {
    int64_t activity;
    const char *state; /* scheduled, running, ended or settled */
    int64_t starts_at, ends_at, epoch;
    int shards;
    bool look; /* change nothing: STOCK_ANNOUNCE_ANNOUNCED means that there is something to announce */
};

struct stock_announced {
    int code;           /* STOCK_ANNOUNCE_* */
    int64_t changed_at; /* ms since 1970 by the clock of Redis; 0 where there is no hash */
    char note[STOCK_NOTE_MAX];
};

ORDERD_MUST_CHECK bool stock_announce(struct kv *kv, const struct stock_announcement *what, struct stock_announced *out,
                                      struct error *err);
ORDERD_MUST_CHECK bool stock_announce_many(struct kv *kv, const struct stock_announcement *what, size_t count,
                                           struct stock_announced *out, struct error *errs, struct error *err);

/* The hash's and the channel's name. */
#define STOCK_STATE_KEY_MAX 48
void stock_state_key(char out[STOCK_STATE_KEY_MAX], int64_t activity);

/* After a loss of data, for each shard of the activity:
 *
 *  1  stock_pause; wait until all that the ledger still has are rows (queues and lanes drained, two walks);
 *  2  commit the activity's next epoch, the fence of all that follows;
 *  3  stock_rebuild with that epoch: the old shard goes and an empty, paused one comes, in one step;
 *     the caps of all shards must add up to the activity's stock, and none may be below its live units;
 *  4  stock_adopt_many for every live order of the shard (and, where buyers may not buy again, every closed one);
 *  5  stock_verify, and held + sold against the database;
 *  6  stock_pause with paused = false.
 *
 * A crash anywhere: begin again, with the next epoch (or at 3 with the same one, where that is known: what was done
 * answers "already"). Orders that become rows after step 4 are adopted by the walk. activity_rebuild does all of it. */
struct stock_rebuilt {
    int code; /* STOCK_REBUILD_* */
    int64_t left;
    int64_t dropped; /* orders in the ledger of the shard that was replaced */
    char note[STOCK_NOTE_MAX];
};

ORDERD_MUST_CHECK bool stock_rebuild(struct kv *kv, const struct stock_plan *plan, struct stock_rebuilt *out,
                                     struct error *err);

/* After settlement: the keys go. */
struct stock_remove {
    int64_t activity;
    int shard;
    int64_t epoch;
};

struct stock_removed {
    int code; /* STOCK_REMOVE_* */
    int64_t held;
    char note[STOCK_NOTE_MAX];
};

ORDERD_MUST_CHECK bool stock_remove(struct kv *kv, const struct stock_remove *what, struct stock_removed *out,
                                    struct error *err);

struct stock_removal {
    int64_t activity;
    int shards;
    int64_t epoch;
    int page;         /* about how many keys SCAN looks at in one round trip, 1 to 10000 */
    int64_t pause_ms; /* between round trips */
};

struct stock_removal_done {
    int shards;                /* removed by this call; others were gone before */
    int64_t strays;            /* further keys with the activity's prefix that were removed */
    int refused;               /* the first shard that may not be removed, where all ended; -1 where none */
    struct stock_removed last; /* the script's answer for it, or for the last shard */
};

/* All keys of an activity: each shard by stock_remove, then whatever else has the prefix "sk:{<activity>:" (SCAN, at
 * each server of a cluster, and UNLINK). Ends at the first shard that refuses; may be repeated. Takes as long as its
 * pauses. */
ORDERD_MUST_CHECK bool stock_remove_all(struct kv *kv, const struct stock_removal *what, struct stock_removal_done *out,
                                        struct error *err);

/* Walks one hash of a shard. Redis may show an order more than once, and may or may not show one that comes or goes
 * meanwhile; one that is there all the time is shown. */
struct stock_entry {
    struct slice order_no; /* valid during the call-back */
    bool valid;            /* false: the value is not in our format; only order_no and value are set */
    struct slice value;
    enum stock_gone gone;                                         /* of `gone` */
    int64_t user, user_seq, quantity, amount, epoch, reserved_at; /* of `held` */
};

struct stock_walk {
    int64_t activity;
    int shard;
    int key;          /* STOCK_KEY_HELD or STOCK_KEY_GONE */
    int page;         /* about how many entries in one round trip, 1 to 10000 */
    int64_t pause_ms; /* between round trips, so that a large shard does not slow the sale */
};

/* entry answers whether to go on; it may not use kv. A walk that it ended counts as done (true). */
ORDERD_MUST_CHECK bool stock_walk(struct kv *kv, const struct stock_walk *walk,
                                  bool (*entry)(const struct stock_entry *entry, void *data), void *data,
                                  struct error *err);

/* The same one page at a time, for who has work to do in between. */
struct stock_cursor {
    char at[24]; /* "0" before the first page */
    bool end;    /* that was the last one */
};

/* One round trip; shows all of its entries, which may be none although more follow. entry may not use kv. */
ORDERD_MUST_CHECK bool stock_walk_page(struct kv *kv, const struct stock_walk *walk, struct stock_cursor *cursor,
                                       void (*entry)(const struct stock_entry *entry, void *data), void *data,
                                       struct error *err);

/* ---- looking orders up ---- */

struct stock_sought {
    int shard;
    struct slice order_no;
    int64_t user, user_seq; /* whose mark it should hold; user 0: the mark is of no interest */
};

struct stock_seen {
    bool held, held_valid;                                        /* valid: in our format; else the numbers are 0 */
    int64_t user, user_seq, quantity, amount, epoch, reserved_at; /* of the reservation */
    bool gone_valid;                                              /* no word, or one that we know */
    enum stock_gone gone;
    bool marked, mark_own; /* somebody has the mark; it is this order */
};

/* What the shards of one activity know of these orders, in one round trip; each shard in stretches of 200 orders, each
 * stretch at one instant. *now: the time of Redis, the latest of them. KV_DATA where a key is of a foreign kind. */
ORDERD_MUST_CHECK bool stock_look(struct kv *kv, int64_t activity, const struct stock_sought *orders, size_t count,
                                  struct stock_seen *out, int64_t *now, struct error *err);

#endif
