/* Sending letters again, by the local message table: the letter's state and its message are one commit. */
#include "dead_letter_row.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "orderd/check.h"
#include "orderd/fault.h"
#include "orderd/order_record.h"
#include "orderd/order_request.h"
#include "orderd/topology.h"

#define HEADERS_MAX 250 /* what the relay takes, less ours */

/* ---- verdict ---- */

static bool is_valid_list(struct slice body, char *why, size_t size)
{
    struct order_change *list = check_malloc(ORDER_LIST_MAX * sizeof *list);
    size_t count;
    bool valid = order_unpaid_decode(body, list, &count, why, size) == REASON_NONE;

    free(list);
    return valid;
}

/* Where it goes back to; and, by its body, the one order that it is about. false: why says what is wrong. */
static bool read_letter(const struct dead_letter_row *row, const char *create_queue, const char **topic,
                        char order_no[ORDER_NO_MAX + 1], char *why, size_t size)
{
    struct order order;
    struct order_change change;
    char text[ORDER_CANCEL_WHY_MAX + 1], detail[128] = "";
    bool valid = false;

    order_no[0] = '\0';
    *topic = NULL;
    if (slice_is(row->queue, create_queue) || slice_is(row->queue, topology_name(TOPOLOGY_QUEUE_CREATE))) {
        *topic = topology_name(TOPOLOGY_QUEUE_CREATE);
        valid = order_decode(row->body, &order, detail, sizeof detail) == REASON_NONE;
        if (valid)
            snprintf(order_no, ORDER_NO_MAX + 1, "%s", order.order_no);
    } else if (slice_is(row->queue, topology_name(TOPOLOGY_QUEUE_UNPAID))) {
        *topic = topology_name(TOPOLOGY_QUEUE_UNPAID);
        valid = is_valid_list(row->body, detail, sizeof detail);
    } else if (slice_is(row->queue, topology_name(TOPOLOGY_QUEUE_PAID))) {
        *topic = topology_name(TOPOLOGY_QUEUE_PAID);
        valid = order_paid_decode(row->body, &change, detail, sizeof detail) == REASON_NONE;
    } else if (slice_is(row->queue, topology_name(TOPOLOGY_QUEUE_CANCEL))) {
        *topic = topology_name(TOPOLOGY_QUEUE_CANCEL);
        valid = order_cancel_decode(row->body, &change, text, detail, sizeof detail) == REASON_NONE;
    }
    if (!*topic)
        snprintf(why, size, "it does not say which queue it was in");
    else if (!valid)
        snprintf(why, size, "its body can never be taken: %s", detail);
    else if (strcmp(*topic, topology_name(TOPOLOGY_QUEUE_PAID)) == 0 ||
             strcmp(*topic, topology_name(TOPOLOGY_QUEUE_CANCEL)) == 0)
        snprintf(order_no, ORDER_NO_MAX + 1, "%s", change.order_no);
    return valid;
}

static void judge_order(struct dead_letter_verdict *v, const char *order_no, bool found, enum order_status status)
{
    bool create = strcmp(v->topic, topology_name(TOPOLOGY_QUEUE_CREATE)) == 0;
    const char *what = found ? order_status_name(status) : "not there";

    if (!create)
        v->fate = found ? DEAD_LETTER_SEND : DEAD_LETTER_REFUSE;
    else if (!found)
        v->fate = DEAD_LETTER_SEND;
    else
        v->fate = status == ORDER_REJECTED ? DEAD_LETTER_REFUSE : DEAD_LETTER_RESOLVE;
    snprintf(v->why, sizeof v->why, "order %s is %s%s", order_no, what,
             create && found && status == ORDER_REJECTED ? " for good: the buyer needs a new order" : "");
}

static bool count_replays(struct db *db, int64_t id, int64_t *out, struct error *err)
{
    char sql[128];

    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM dead_letter_action WHERE letter_id=%" PRId64 " AND action='replayed'", id);
    return db_query_i64(db, slice_of(sql), 0, out, err);
}

bool dead_letter_judge_replay(struct db *db, const struct dead_letter_row *row, const char *create_queue, int64_t max,
                              struct dead_letter_verdict *out, struct error *err)
{
    char order_no[ORDER_NO_MAX + 1];
    struct order_record record;
    bool found;

    *out = (struct dead_letter_verdict){.fate = DEAD_LETTER_REFUSE};
    if (row->state != DEAD_LETTER_OPEN) {
        snprintf(out->why, sizeof out->why, "it is %s", dead_letter_state_name(row->state));
        return true;
    }
    if (!read_letter(row, create_queue, &out->topic, order_no, out->why, sizeof out->why))
        return true;
    if (!count_replays(db, row->id, &out->replays, err))
        return false;
    if (order_no[0]) {
        if (!order_record_read(db, order_no, &record, &found, err))
            return false;
        judge_order(out, order_no, found, found ? record.status : ORDER_PENDING);
    } else {
        out->fate = DEAD_LETTER_SEND;
        snprintf(out->why, sizeof out->why, "it names several orders");
    }
    if (out->fate == DEAD_LETTER_SEND && out->replays >= max) {
        out->fate = DEAD_LETTER_REFUSE;
        snprintf(out->why, sizeof out->why, "it was replayed %" PRId64 " times and came back", out->replays);
    }
    return true;
}

/* ---- the message ---- */

/* Headers of ours begin anew, but for where and when it failed at first; the broker's own are never sent again, nor
 * those by which it would route. */
static bool travels(const char *name)
{
    if (strcmp(name, "orderd-origin") == 0 || strcmp(name, "orderd-first-failed-at") == 0)
        return true;
    return strncmp(name, "orderd-", 7) != 0 && strncasecmp(name, "x-", 2) != 0 && strcasecmp(name, "CC") != 0 &&
           strcasecmp(name, "BCC") != 0 && strcmp(name, "message-id") != 0 && strcmp(name, "content-type") != 0;
}

static void set_text(json_t *object, const char *name, struct slice text)
{
    if (text.len)
        json_object_set_new(object, name, json_stringn(text.ptr, text.len));
}

static char *compose_headers(const struct dead_letter_row *row)
{
    json_error_t where;
    json_t *old = json_loadb(row->headers.ptr, row->headers.len, JSON_ALLOW_NUL, &where), *new = json_object();
    const char *name;
    json_t *value;
    char *out;

    json_object_foreach(old, name, value)
    {
        if (travels(name) && json_object_size(new) < HEADERS_MAX)
            json_object_set(new, name, value);
    }
    json_object_set_new(new, "orderd-replay-of", json_integer(row->id));
    set_text(new, "message-id", row->message_id);
    set_text(new, "content-type", row->content_type);
    out = json_dumps(new, JSON_COMPACT);
    CHECK(out != NULL);
    json_decref(old);
    json_decref(new);
    return out;
}

static void add_message(const struct db *db, struct strbuf *sql, const struct dead_letter_row *row,
                        const struct dead_letter_verdict *v, const char *key, int64_t due_in_us)
{
    char *headers = compose_headers(row);

    strbuf_addf(sql,
                "INSERT INTO local_message SET message_key='%s',topic='%s',due_at=UTC_TIMESTAMP(6)+INTERVAL %" PRId64
                " MICROSECOND,headers=",
                key, v->topic, due_in_us);
    db_add_quoted(db, sql, slice_of(headers));
    strbuf_add_char(sql, ',');
    dead_letter_set_bytes(db, sql, "payload", row->body);
    strbuf_cut(sql, sql->len - 1);
    free(headers);
}

bool dead_letter_replay(struct db *db, const struct dead_letter_row *row, const struct dead_letter_verdict *verdict,
                        const char *who, int64_t due_in_us, bool *done, struct error *err)
{
    bool send = verdict->fate == DEAD_LETTER_SEND, ok;
    struct dead_letter_move move = {.from = DEAD_LETTER_OPEN,
                                    .to = send ? DEAD_LETTER_REPLAYED : DEAD_LETTER_RESOLVED,
                                    .action = send ? "replayed" : "resolved",
                                    .who = who};
    enum dead_letter_moved result;
    enum dead_letter_state was;
    struct strbuf sql = STRBUF_INIT;
    char key[64], note[300];

    CHECK(verdict->fate != DEAD_LETTER_REFUSE);
    snprintf(key, sizeof key, "replay:%" PRId64 ":%" PRId64, row->id, verdict->replays + 1);
    snprintf(note, sizeof note, "%s%s%s", verdict->why, send ? "; sent as " : "", send ? key : "");
    move.note = slice_of(note);
    if (send) {
        add_message(db, &sql, row, verdict, key, due_in_us);
        move.with = (struct slice){sql.data, sql.len};
    }
    FAULT(REPLAY_BEFORE_COMMIT);
    ok = dead_letter_store_move(db, row->id, &move, &result, &was, err);
    strbuf_release(&sql);
    *done = ok && result == DEAD_LETTER_MOVED;
    return ok;
}
