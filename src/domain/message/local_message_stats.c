/* Counting the local message table. */
#include "local_message_row.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "orderd/arena.h"

/* The sum for one topic and state: found by both, which stand together in `name`. */
struct sum {
    UT_hash_handle hh;
    struct local_message_count count;
    unsigned name_len;
    char name[1 + 64 + 1]; /* the state's number, and a topic as long as its column */
};

struct counting {
    struct local_message_stats *out;
    struct sum *sums;
    int64_t rows;
};

static void add_up(struct local_message_count *sum, const struct local_message_count *c)
{
    sum->rows += c->rows;
    sum->due += c->due;
    sum->leased += c->leased;
    sum->oldest_ms = c->oldest_ms > sum->oldest_ms ? c->oldest_ms : sum->oldest_ms;
    sum->overdue_ms = c->overdue_ms > sum->overdue_ms ? c->overdue_ms : sum->overdue_ms;
}

static bool find_sum(struct counting *counting, const struct local_message_count *c, struct sum **out)
{
    struct arena *arena = counting->out->arena;
    char name[sizeof(*out)->name];
    unsigned len = (unsigned)c->topic.len + 1;
    struct sum *sum;

    if (len > sizeof name)
        return false;
    name[0] = (char)c->state;
    memcpy(name + 1, c->topic.ptr, c->topic.len);
    HASH_FIND(hh, counting->sums, name, len, sum);
    if (!sum) {
        sum = arena_zalloc(arena, sizeof *sum);
        memcpy(sum->name, name, len);
        sum->name_len = len;
        sum->count.state = c->state;
        sum->count.topic = (struct slice){sum->name + 1, c->topic.len};
        HASH_ADD_KEYPTR(hh, counting->sums, sum->name, len, sum);
    }
    *out = sum;
    return true;
}

static bool take_count(void *arg, const struct slice *columns, unsigned count)
{
    struct counting *counting = arg;
    struct local_message_count c = {0};
    struct sum *sum;

    if (count != 7 || !local_message_state_of_name(columns[0], &c.state) || !db_column_i64(columns[2], &c.rows) ||
        !db_column_i64(columns[3], &c.due) || !db_column_i64(columns[4], &c.leased) ||
        !db_column_i64(columns[5], &c.oldest_ms) || !db_column_i64(columns[6], &c.overdue_ms))
        return false;
    c.topic = columns[1];
    if (!find_sum(counting, &c, &sum))
        return false;
    add_up(&sum->count, &c);
    add_up(&counting->out->by_state[c.state], &c);
    counting->rows += c.rows;
    return true;
}

#define AGE(column) "GREATEST(0,COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND," column ",NOW(6)) DIV 1000),0))"

static bool count_stretch(struct db *db, struct counting *counting, int64_t after, int64_t end, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT CAST(state AS CHAR),topic,COUNT(*),SUM(state='pending' AND due_at<=NOW(6)),"
                "SUM(" LOCAL_MESSAGE_LEASED ")," AGE("created_at") "," AGE(
                    "IF(state='pending',due_at,NULL)") " FROM local_message FORCE INDEX(PRIMARY) WHERE id>%" PRId64
                                                       " AND id<=%" PRId64 " GROUP BY state,topic",
                after, end);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_count, counting, err);
    strbuf_release(&sql);
    return ok;
}

static int by_topic(const void *a, const void *b)
{
    const struct local_message_count *x = a, *y = b;
    size_t shorter = x->topic.len < y->topic.len ? x->topic.len : y->topic.len;
    int order = memcmp(x->topic.ptr, y->topic.ptr, shorter);

    if (order == 0)
        order = (x->topic.len > y->topic.len) - (x->topic.len < y->topic.len);
    return order ? order : (int)x->state - (int)y->state;
}

static void list_sums(struct counting *counting)
{
    struct local_message_stats *out = counting->out;
    struct sum *sum, *next;

    out->counts = arena_alloc(out->arena, (HASH_COUNT(counting->sums) + 1) * sizeof *out->counts);
    HASH_ITER(hh, counting->sums, sum, next)
    {
        out->counts[out->count++] = sum->count;
        HASH_DEL(counting->sums, sum);
    }
    qsort(out->counts, out->count, sizeof *out->counts, by_topic);
}

static bool take_failure(void *arg, const struct slice *c, unsigned count)
{
    struct local_message_stats *out = arg;
    struct local_message_failure *f = &out->failures[out->failure_count];

    if (count != 4 || out->failure_count == LOCAL_MESSAGE_FAILURES_MAX ||
        !local_message_state_of_name(c[0], &f->state) || !db_column_i64(c[2], &f->rows))
        return false;
    f->topic = (struct slice){arena_strndup(out->arena, c[1].ptr, c[1].len), c[1].len};
    f->last_error = (struct slice){arena_strndup(out->arena, c[3].ptr, c[3].len), c[3].len};
    out->failure_count++;
    return true;
}

/* The index finds them: sent rows have no error. */
static bool read_failures(struct db *db, struct local_message_stats *out, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT CAST(state AS CHAR),topic,COUNT(*),last_error FROM local_message FORCE INDEX(k_due) WHERE "
                "state IN('pending','quarantined') AND last_error IS NOT NULL GROUP BY state,topic,last_error "
                "ORDER BY state DESC,COUNT(*) DESC,topic,last_error LIMIT %d",
                LOCAL_MESSAGE_FAILURES_MAX);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_failure, out, err);
    strbuf_release(&sql);
    return ok;
}

bool local_message_stats_read(struct db *db, struct local_message_stats *out,
                              void (*on_progress)(void *arg, int64_t rows), void *arg, struct error *err)
{
    struct counting counting = {.out = out};
    int64_t after = 0, end = 0;
    bool ok = true;

    *out = (struct local_message_stats){.arena = arena_create((size_t)64 * 1024)};
    while (ok && end < INT64_MAX) {
        ok = local_message_stretch(db, after, &end, err) && count_stretch(db, &counting, after, end, err);
        after = end;
        if (ok && on_progress)
            on_progress(arg, counting.rows);
    }
    list_sums(&counting);
    return ok && read_failures(db, out, err);
}

void local_message_stats_release(struct local_message_stats *stats)
{
    if (stats->arena)
        arena_destroy(&stats->arena);
}
