#include "orderd/activity_transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/fault.h"

/* ---- which ---- */

static int32_t fullest(const int64_t *left, int32_t shards)
{
    int32_t best = 0;

    for (int32_t i = 1; i < shards; i++)
        best = left[i] > left[best] ? i : best;
    return best;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

size_t activity_transfer_plan(const int64_t *left, int32_t shards, struct activity_move moves[ACTIVITY_MOVES_MAX])
{
    int64_t *then = check_calloc((size_t)shards, sizeof *then);
    size_t count = 0;

    for (int32_t i = 0; i < shards; i++)
        then[i] = left[i];
    for (int32_t i = 0; i < shards && count < ACTIVITY_MOVES_MAX; i++) {
        int32_t from = fullest(then, shards);
        int64_t owed = then[i] < 0 ? -then[i] : 0;
        int64_t units = smaller(then[from], owed > then[from] / 2 ? owed : then[from] / 2);

        if (left[i] > 0 || units <= 0)
            continue;
        moves[count++] = (struct activity_move){from, i, units};
        then[from] -= units;
        then[i] += units;
    }
    free(then);
    return count;
}

size_t activity_transfer_rotate(const int64_t *left, int32_t shards, struct activity_move moves[ACTIVITY_MOVES_MAX])
{
    int32_t empty = 0;
    size_t count = 0;

    for (int32_t i = 0; i < shards; i++) {
        if (left[i] < 0 || left[i] > 1)
            return 0;
        empty += left[i] == 0;
    }
    for (int32_t i = 0; i < shards && empty > 0 && count < ACTIVITY_MOVES_MAX; i++) {
        if (left[i] == 1)
            moves[count++] = (struct activity_move){i, (i + 1) % shards, 1};
    }
    return count;
}

struct spreads {
    struct activity_spread *list;
    size_t count, max;
};

static bool take_spread(void *arg, const struct slice *c, unsigned count)
{
    struct spreads *s = arg;
    int64_t shards;

    if (count != 2 || s->count == s->max || !db_column_i64(c[0], &s->list[s->count].id) ||
        !db_column_i64(c[1], &shards))
        return false;
    s->list[s->count++].shards = (int32_t)shards;
    return true;
}

bool activity_transfer_spread(struct db *db, struct activity_spread *list, size_t max, size_t *count, struct error *err)
{
    struct spreads found = {list, 0, max};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT id,shards FROM activity WHERE state='running' AND shards>1 AND preheated_at IS NOT NULL "
                "ORDER BY id LIMIT %zu",
                max);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_spread, &found, err);
    *count = found.count;
    strbuf_release(&sql);
    return ok;
}

/* Shards remember ids for as long as they live, so none may come twice: not from a database that was set back, nor from
 * a replica that became the primary without the last rows, as AUTO_INCREMENT would give them. Less its top bit, it fits
 * int64_t. */
#define NEW_ID "UUID_SHORT()&9223372036854775807"

bool activity_transfer_write(struct db *db, const struct activity *a, const struct activity_move *moves, size_t count,
                             struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    if (count == 0)
        return true;
    strbuf_add_str(&sql, "INSERT INTO stock_transfer(id,activity_id,epoch,from_shard,to_shard,units) VALUES");
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&sql, "%s(" NEW_ID ",%" PRId64 ",%" PRId32 ",%" PRId32 ",%" PRId32 ",%" PRId64 ")", i ? "," : "",
                    a->id, a->epoch, moves[i].from, moves[i].to, moves[i].units);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    FAULT(TRANSFER_AFTER_PLAN);
    return ok;
}

/* ---- how ---- */

struct row {
    int64_t id, epoch, from, to, units;
};

struct rows {
    struct row *list;
    size_t count;
};

static bool take_row(void *arg, const struct slice *c, unsigned count)
{
    struct rows *rows = arg;
    struct row row;

    if (count != 5 || !db_column_i64(c[0], &row.id) || !db_column_i64(c[1], &row.epoch) ||
        !db_column_i64(c[2], &row.from) || !db_column_i64(c[3], &row.to) || !db_column_i64(c[4], &row.units))
        return false;
    rows->list = check_realloc(rows->list, (rows->count + 1) * sizeof *rows->list);
    rows->list[rows->count++] = row;
    return true;
}

/* more: which of the activity's rows, and in which order. */
static bool read_rows(struct db *db, const struct activity *a, const char *more, struct rows *rows, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT id,epoch,from_shard,to_shard,units FROM stock_transfer WHERE activity_id=%" PRId64 " AND ",
                a->id);
    strbuf_add_str(&sql, more);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_row, rows, err);
    strbuf_release(&sql);
    return ok;
}

static bool mark(struct db *db, const struct row *row, const char *state, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(
        &sql, "UPDATE stock_transfer SET state='%s',ended_at=UTC_TIMESTAMP(6) WHERE id=%" PRId64 " AND state='planned'",
        state, row->id);
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    return ok;
}

static bool refused(const struct activity *a, int64_t shard, enum stock_script script, int code, struct error *err)
{
    return error_set(err, ERROR_REFUSED, "units between shards: shard %" PRId64 " of activity %" PRId64 ": %s", shard,
                     a->id, stock_code_sentence(script, code));
}

static bool lend_once(struct kv *kv, const struct activity *a, const struct row *row, bool come, bool *moved,
                      struct error *err)
{
    const struct stock_transfer what = {a->id, (int)row->from, row->id, row->units, row->epoch, come};
    struct stock_transferred answer;

    if (!stock_lend(kv, &what, &answer, err))
        return false;
    *moved = answer.code == STOCK_LEND_LENT || answer.code == STOCK_LEND_ALREADY;
    return *moved || answer.code == STOCK_LEND_SHORT || refused(a, row->from, STOCK_SCRIPT_LEND, answer.code, err);
}

static bool has_come(struct kv *kv, const struct activity *a, const struct row *row, bool *come, struct error *err)
{
    const struct stock_transfer what = {a->id, (int)row->to, row->id, 0, row->epoch, false};
    struct stock_transferred answer;

    if (!stock_borrow(kv, &what, &answer, err))
        return false;
    *come = answer.code == STOCK_BORROW_ALREADY;
    return *come || answer.code == STOCK_BORROW_NOT_COME || refused(a, row->to, STOCK_SCRIPT_BORROW, answer.code, err);
}

/* *moved: false where the row is void. Short and come: a failover forgot the lend, and its units were sold since. They
 * are on sale twice until they leave, whatever is left: a debt here is what keeps the sum of all shards right. */
static bool lend(struct kv *kv, const struct activity *a, const struct row *row, bool *moved, struct error *err)
{
    bool come = false;

    if (!lend_once(kv, a, row, false, moved, err))
        return false;
    if (*moved)
        return true;
    return has_come(kv, a, row, &come, err) && (!come || lend_once(kv, a, row, true, moved, err));
}

static bool borrow(struct kv *kv, const struct activity *a, const struct row *row, int64_t *units, struct error *err)
{
    const struct stock_transfer what = {a->id, (int)row->to, row->id, row->units, row->epoch, false};
    struct stock_transferred answer;

    if (!stock_borrow(kv, &what, &answer, err))
        return false;
    *units += answer.code == STOCK_BORROW_BORROWED ? row->units : 0;
    return answer.code == STOCK_BORROW_BORROWED || answer.code == STOCK_BORROW_ALREADY ||
           refused(a, row->to, STOCK_SCRIPT_BORROW, answer.code, err);
}

/* Shards of a later epoch were given caps that add up without it. */
static bool perform(struct db *db, struct kv *kv, const struct activity *a, const struct row *row, int64_t *units,
                    struct error *err)
{
    bool moved = false;

    if (row->epoch == a->epoch && !lend(kv, a, row, &moved, err))
        return false;
    if (!moved)
        return mark(db, row, "void", err);
    FAULT(TRANSFER_AFTER_LEND);
    if (!borrow(kv, a, row, units, err))
        return false;
    FAULT(TRANSFER_AFTER_BORROW);
    return mark(db, row, "done", err);
}

/* *last: the id of the last row, 0 where there was none. */
static bool perform_all(struct db *db, struct kv *kv, const struct activity *a, const char *more, int64_t *last,
                        int64_t *units, struct error *err)
{
    struct rows rows = {0};
    bool ok = read_rows(db, a, more, &rows, err);

    *units = 0;
    for (size_t i = 0; i < rows.count && ok; i++)
        ok = perform(db, kv, a, &rows.list[i], units, err);
    *last = rows.count > 0 ? rows.list[rows.count - 1].id : 0;
    free(rows.list);
    return ok;
}

bool activity_transfer_finish(struct db *db, struct kv *kv, const struct activity *a, int64_t *units, struct error *err)
{
    int64_t last;

    return perform_all(db, kv, a, "state='planned' ORDER BY planned_at,id", &last, units, err);
}

bool activity_transfer_repeat(struct db *db, struct kv *kv, const struct activity *a, int64_t *last, int64_t *units,
                              struct error *err)
{
    char more[120];

    snprintf(more, sizeof more, "state='done' AND epoch=%" PRId32 " AND id>%" PRId64 " ORDER BY id LIMIT %d", a->epoch,
             *last, ACTIVITY_REPEAT_MAX);
    return perform_all(db, kv, a, more, last, units, err);
}
