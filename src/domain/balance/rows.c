/* What MySQL says of orders: their rows and local messages, in sets. */
#include "balance_private.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/create_queue.h"
#include "orderd/local_message_admin.h"
#include "orderd/order_store.h"

/* Of each queue: enough that a few old ones show how far behind its lanes are. */
#define NEWEST_ROWS 1000

static struct slice text_of(const struct strbuf *sql)
{
    return (struct slice){sql->data, sql->len};
}

/* ---- one row ---- */

#define MS_SINCE(column) "CAST(TIMESTAMPDIFF(MICROSECOND," column ",UTC_TIMESTAMP(6)) DIV 1000 AS SIGNED)"

#define COLUMNS                                                                                                        \
    "order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,CAST(TIMESTAMPDIFF(MICROSECOND,"         \
    "'1970-01-01',reserved_at) DIV 1000 AS SIGNED),units_returned,units_forfeited," MS_SINCE(                          \
        "COALESCE(closed_at,paid_at,created_at)") ",id,status,reason"
#define NUMBERS 13 /* after order_no */

static bool status_of(struct slice name, enum order_status *out)
{
    for (int i = 0; i < ORDER_STATUS_COUNT; i++) {
        if (slice_is(name, order_status_name((enum order_status)i))) {
            *out = (enum order_status)i;
            return true;
        }
    }
    return false;
}

static void reason_of(struct slice name, enum reason *out)
{
    char text[40] = "";

    if (name.len < sizeof text)
        memcpy(text, name.ptr, name.len);
    *out = reason_of_name(text);
}

/* *id: its primary key. */
static bool read_row(const struct slice *c, unsigned count, struct row *row, int64_t *id)
{
    int64_t n[NUMBERS];

    if (count != NUMBERS + 3)
        return false;
    for (unsigned i = 0; i < NUMBERS; i++) {
        if (!db_column_i64(c[1 + i], &n[i]))
            return false;
    }
    *row = (struct row){
        .exists = true,
        .order = {.activity_id = n[0],
                  .user_id = n[1],
                  .user_seq = (int32_t)n[2],
                  .sku_id = n[3],
                  .quantity = (int32_t)n[4],
                  .amount = n[5],
                  .shard = (int32_t)n[6],
                  .epoch = (int32_t)n[7],
                  .reserved_at = n[8]},
        .units_returned = (int32_t)n[9],
        .units_forfeited = (int32_t)n[10],
        .decided_age_ms = n[11],
    };
    *id = n[12];
    reason_of(c[NUMBERS + 2], &row->reason);
    return status_of(c[NUMBERS + 1], &row->status);
}

static void keep_row(struct subject *s, const struct row *row)
{
    s->row = *row;
    memcpy(s->row.order.order_no, s->order_no, sizeof s->order_no);
}

/* ---- by number ---- */

/* ('<prefix><order_no>',...); order numbers have an alphabet without quotes (page_add). Answers how many. */
static size_t add_numbers(struct scan *scan, bool doubtful, const char *const *prefixes, size_t prefix_count)
{
    struct strbuf *sql = &scan->sql;
    size_t added = 0;

    strbuf_add_char(sql, '(');
    for (size_t i = 0; i < scan->page.count; i++) {
        const struct subject *s = &scan->page.list[i];

        for (size_t p = 0; p < prefix_count && (!doubtful || s->doubtful); p++) {
            strbuf_add_str(sql, added++ > 0 ? ",'" : "'");
            strbuf_add_str(sql, prefixes[p]);
            strbuf_add_str(sql, order_no_checked(s->order_no));
            strbuf_add_char(sql, '\'');
        }
    }
    strbuf_add_char(sql, ')');
    return added;
}

static bool take_named(void *arg, const struct slice *c, unsigned count)
{
    struct scan *scan = arg;
    struct subject *s = page_find(&scan->page, c[0]);
    struct row row;
    int64_t id;

    if (!s || !read_row(c, count, &row, &id))
        return false;
    keep_row(s, &row);
    return true;
}

static bool read_named(struct scan *scan, bool doubtful, struct error *err)
{
    static const char *const none[] = {""};

    strbuf_reset(&scan->sql);
    strbuf_add_str(&scan->sql, "SELECT " COLUMNS " FROM orders FORCE INDEX(uk_order_no) WHERE order_no IN");
    if (add_numbers(scan, doubtful, none, 1) == 0)
        return true;
    return db_query(scan->db, text_of(&scan->sql), take_named, scan, err);
}

/* How often it was sent again: the header that repair writes. */
static int recoveries_of(struct slice headers)
{
    json_error_t problem;
    json_t *root = headers.len > 0 ? json_loadb(headers.ptr, headers.len, 0, &problem) : NULL;
    json_int_t n = json_integer_value(json_object_get(root, "orderd-recovery"));

    json_decref(root);
    return n > 0 && n < 1000000 ? (int)n : 0;
}

static void take_sent(struct subject *s, struct slice column)
{
    int64_t age;

    if (db_column_i64(column, &age) && age < s->sent_age_ms)
        s->sent_age_ms = age;
}

/* A pending one counts for more than a quarantined one: it may still arrive. */
static bool take_message(void *arg, const struct slice *c, unsigned count)
{
    struct scan *scan = arg;
    const char *colon = memchr(c[0].ptr, ':', c[0].len);
    struct subject *s;
    enum local_message_state state;

    if (count != 4 || !colon || !local_message_state_of_name(c[1], &state))
        return false;
    s = page_find(&scan->page, (struct slice){colon + 1, c[0].len - (size_t)(colon + 1 - c[0].ptr)});
    if (!s)
        return false;
    if (state == LOCAL_MESSAGE_STATE_PENDING)
        s->message = BALANCE_MESSAGE_PENDING;
    else if (state == LOCAL_MESSAGE_STATE_QUARANTINED && s->message == BALANCE_MESSAGE_NONE)
        s->message = BALANCE_MESSAGE_QUARANTINED;
    else if (state == LOCAL_MESSAGE_STATE_SENT)
        take_sent(s, c[3]);
    if (c[0].ptr[0] == 'r')
        s->recoveries = recoveries_of(c[2]);
    return true;
}

static bool read_messages(struct scan *scan, bool doubtful, struct error *err)
{
    static const char *const keys[] = {"order.create:", "recover:"};

    strbuf_reset(&scan->sql);
    strbuf_add_str(&scan->sql,
                   "SELECT message_key,CAST(state AS CHAR),headers," MS_SINCE(
                       "COALESCE(sent_at,due_at)") " FROM local_message FORCE INDEX(uk_message_key) WHERE message_key "
                                                   "IN");
    if (add_numbers(scan, doubtful, keys, 2) == 0)
        return true;
    return db_query(scan->db, text_of(&scan->sql), take_message, scan, err);
}

bool rows_read(struct scan *scan, bool doubtful, struct error *err)
{
    for (size_t i = 0; i < scan->page.count; i++) {
        struct subject *s = &scan->page.list[i];

        if (doubtful && !s->doubtful)
            continue;
        s->row.exists = false;
        s->message = BALANCE_MESSAGE_NONE;
        s->recoveries = 0;
        s->sent_age_ms = INT64_MAX;
    }
    return read_messages(scan, doubtful, err) && read_named(scan, doubtful, err);
}

/* ---- page by page ---- */

struct taking {
    struct scan *scan;
    struct row_cursor *cursor;
    int rows;
};

/* A row with a number that is none of ours was written by foreign hands; Redis cannot know it. */
static bool take_next(void *arg, const struct slice *c, unsigned count)
{
    struct taking *t = arg;
    struct subject *s;
    struct row row;

    if (!read_row(c, count, &row, &t->cursor->id))
        return false;
    t->rows++;
    t->cursor->user = row.order.user_id;
    t->cursor->seq = row.order.user_seq;
    s = page_add(&t->scan->page, c[0]);
    if (!s)
        return true;
    keep_row(s, &row);
    s->shard = row.order.shard;
    s->marks = true;
    return true;
}

static bool read_page(struct scan *scan, struct row_cursor *cursor, int *rows, struct error *err)
{
    struct taking taking = {scan, cursor, 0};

    page_begin(&scan->page);
    if (!db_query(scan->db, text_of(&scan->sql), take_next, &taking, err))
        return false;
    *rows = taking.rows;
    return true;
}

/* Never "> -1": a range over an unsigned column with a negative end was seen to leave out 0 (MariaDB 10.11). */
static int64_t next_of(const struct row_cursor *cursor)
{
    return cursor->begun ? cursor->seq + 1 : 0;
}

bool rows_live(struct scan *scan, struct row_cursor *cursor, struct error *err)
{
    int rows;

    strbuf_reset(&scan->sql);
    strbuf_addf(&scan->sql,
                "SELECT " COLUMNS " FROM orders FORCE INDEX(uk_live) WHERE activity_id=%" PRId64
                " AND live_user>=%" PRId64 " AND (live_user>%" PRId64 " OR user_seq>=%" PRId64
                ") ORDER BY live_user,user_seq LIMIT %d",
                scan->report->activity.id, cursor->user, cursor->user, next_of(cursor), scan->options->page);
    cursor->begun = true;
    if (!read_page(scan, cursor, &rows, err))
        return false;
    cursor->end = rows < scan->options->page;
    return true;
}

bool rows_done(struct scan *scan, struct order_done *walk, struct error *err)
{
    size_t page = (size_t)scan->options->page;
    struct row_cursor cursor = {0};
    int rows = 0;

    page_begin(&scan->page);
    while (rows == 0) {
        if (!order_done_seek(scan->db, walk, err))
            return false;
        if (walk->end)
            return true;
        strbuf_reset(&scan->sql);
        strbuf_add_str(&scan->sql, "SELECT " COLUMNS);
        order_done_where(walk, &scan->sql, "", page);
        if (!read_page(scan, &cursor, &rows, err))
            return false;
        order_done_took(walk, (size_t)rows, page, cursor.id);
    }
    return true;
}

/* ---- sums ---- */

/* What is in a retry queue may have come from any. */
static int64_t earliest_of_all(const struct order_recent *recent, unsigned queues)
{
    int64_t earliest = INT64_MAX;

    for (unsigned i = 0; i < queues; i++) {
        if (recent->earliest[i] != 0 && recent->earliest[i] < earliest)
            earliest = recent->earliest[i];
    }
    return earliest == INT64_MAX ? 0 : earliest;
}

bool balance_frontier(struct db *db, const struct create_queues *queues, int64_t elsewhere, int64_t slack_ms,
                      int64_t *out, struct error *err)
{
    struct order_recent recent;
    int64_t reached;

    *out = INT64_MAX;
    if (queues->sum + elsewhere == 0)
        return true;
    if (!order_store_recent(db, queues->used, NEWEST_ROWS, &recent, err))
        return false;
    reached = create_queue_reached(queues, recent.earliest);
    if (elsewhere > 0 && earliest_of_all(&recent, queues->used) < reached)
        reached = earliest_of_all(&recent, queues->used);
    *out = reached > slack_ms ? reached - slack_ms : 0;
    return true;
}
