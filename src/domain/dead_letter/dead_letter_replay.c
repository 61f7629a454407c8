/* Sending letters again, by the local message table: the letter's state and its message are one commit. */
#include "dead_letter_row.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "orderd/check.h"
#include "orderd/create_queue.h"
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

static bool is_queue(const struct dead_letter_row *row, enum topology_name name)
{
    return slice_is(row->queue, topology_name(name));
}

/* Where it goes back to; NULL where it does not say. */
static const char *topic_of(const struct dead_letter_row *row, const char *create_queue)
{
    static const enum topology_name queues[] = {TOPOLOGY_QUEUE_UNPAID, TOPOLOGY_QUEUE_PAID, TOPOLOGY_QUEUE_CANCEL};

    if (create_queue_is(create_queue, row->queue))
        return topology_name(TOPOLOGY_QUEUE_CREATE);
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) {
        if (is_queue(row, queues[i]))
            return topology_name(queues[i]);
    }
    return NULL;
}

static bool is_topic(const struct dead_letter_verdict *v, enum topology_name name)
{
    return strcmp(v->topic, topology_name(name)) == 0;
}

/* By the decoders of the lanes: what they would not take is not sent. */
static bool decode(struct dead_letter_verdict *v, struct slice body, char *detail, size_t size)
{
    struct order_change *change = &v->change;
    char text[ORDER_CANCEL_WHY_MAX + 1];
    bool valid;

    if (is_topic(v, TOPOLOGY_QUEUE_UNPAID))
        return is_valid_list(body, detail, size);
    v->is_order = is_topic(v, TOPOLOGY_QUEUE_CREATE);
    if (v->is_order)
        valid = order_decode(body, &v->order, detail, size) == REASON_NONE;
    else if (is_topic(v, TOPOLOGY_QUEUE_PAID))
        valid = order_paid_decode(body, change, detail, size) == REASON_NONE;
    else
        valid = order_cancel_decode(body, change, text, detail, size) == REASON_NONE;
    v->is_order = v->is_order && valid;
    if (valid)
        snprintf(v->order_no, sizeof v->order_no, "%s", v->is_order ? v->order.order_no : change->order_no);
    return valid;
}

/* false: why says what is wrong. */
static bool read_letter(const struct dead_letter_row *row, const char *create_queue, struct dead_letter_verdict *v)
{
    char detail[128] = "";

    v->topic = topic_of(row, create_queue);
    if (!v->topic)
        snprintf(v->why, sizeof v->why, "it does not say which queue it was in");
    else if (!decode(v, row->body, detail, sizeof detail))
        snprintf(v->why, sizeof v->why, "its body can never be taken: %s", detail);
    else
        return true;
    return false;
}

bool dead_letter_can_be_taken(const struct dead_letter_row *row, const char *create_queue, char *why, size_t size)
{
    struct dead_letter_verdict v = {.why = ""};
    bool can = read_letter(row, create_queue, &v);

    snprintf(why, size, "%s", v.why);
    return can;
}

/* ---- the message of a new order ---- */

/* How often it was bought anew so far. */
static long renewals(const struct order_renewal *renewal)
{
    const char *dash = strchr(renewal->last.order.order_no, '-');

    return dash ? strtol(dash + 2, NULL, 10) : 0;
}

bool dead_letter_find_renewal(struct db *db, const struct order_record *record, struct dead_letter_verdict *v,
                              struct error *err)
{
    v->fate = DEAD_LETTER_RENEW;
    if (order_renewal_find(db, record, &v->renewal, err))
        return true;
    if (err->code != ERROR_REFUSED)
        return false;
    dead_letter_refuse(v, "%s", err->text);
    error_clear(err);
    return true;
}

static void judge_renewal(struct dead_letter_verdict *v, int64_t max)
{
    const struct order_renewal *r = &v->renewal;
    const char *last = r->last.order.order_no;

    if (r->taken_by_other)
        dead_letter_refuse(v, "order %s is rejected, and %s, which should replace it, is another purchase", v->order_no,
                           last);
    else if (r->stage == ORDER_RENEWAL_SPENT || (r->stage == ORDER_RENEWAL_NONE && renewals(r) >= max))
        dead_letter_refuse(v, "its order was bought anew %ld times, and %s is rejected too", renewals(r), last);
    else if (r->stage == ORDER_RENEWAL_SENT)
        dead_letter_refuse(v, "order %s, which replaces %s, is on its way", r->next, last);
    else if (r->stage == ORDER_RENEWAL_BEGUN)
        snprintf(v->why, sizeof v->why, "order %s is rejected for good; its new order %s was begun and is completed",
                 last, r->next);
    else if (r->stage == ORDER_RENEWAL_NONE)
        snprintf(v->why, sizeof v->why, "order %s is rejected for good (%s): the buyer gets the new order %s", last,
                 r->last.reason, r->next);
    if (r->stage != ORDER_RENEWAL_DECIDED || r->taken_by_other)
        return;
    v->fate = DEAD_LETTER_RESOLVE;
    snprintf(v->why, sizeof v->why, "order %s, which replaces %s, is %s", last, v->order_no,
             order_status_name(r->last.status));
}

/* found: it has a row, *record. */
static bool judge_order(struct db *db, struct dead_letter_verdict *v, const struct order_record *record, bool found,
                        int64_t max, struct error *err)
{
    if (found && !order_same_content(&v->order, &record->order)) {
        dead_letter_refuse(v, "order %s is there and another purchase: buyer, activity, SKU, quantity or amount differ",
                           v->order_no);
        return true;
    }
    if (found && record->status == ORDER_REJECTED) {
        if (!dead_letter_find_renewal(db, record, v, err))
            return false;
        if (v->fate == DEAD_LETTER_RENEW)
            judge_renewal(v, max);
        return true;
    }
    v->fate = found ? DEAD_LETTER_RESOLVE : DEAD_LETTER_SEND;
    snprintf(v->why, sizeof v->why, "order %s is %s", v->order_no,
             found ? order_status_name(record->status) : "not there");
    return true;
}

/* ---- a payment that was decided once ---- */

static bool judge_decided(void *arg, const struct slice *c, unsigned count)
{
    struct dead_letter_verdict *v = arg;
    int64_t amount;

    if (count != 3 || !db_column_i64(c[1], &amount))
        return false;
    if (!slice_is(c[0], v->order_no) || amount != v->change.amount) {
        dead_letter_refuse(v, "payment %s is there and another one: order or amount differ", v->change.payment_ref);
    } else if (slice_is(c[2], "applied")) {
        v->fate = DEAD_LETTER_RESOLVE;
        snprintf(v->why, sizeof v->why, "payment %s has paid order %s", v->change.payment_ref, v->order_no);
    } else {
        dead_letter_refuse(v, "payment %s is decided: refund it, then discard the letter", v->change.payment_ref);
    }
    return true;
}

/* A payment is decided once: sent again, it would be what it was. */
static bool judge_payment(struct db *db, struct dead_letter_verdict *v, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "SELECT order_no,amount,outcome FROM payment WHERE payment_ref=");
    db_add_quoted(db, &sql, slice_of(v->change.payment_ref));
    ok = db_query(db, (struct slice){sql.data, sql.len}, judge_decided, v, err);
    strbuf_release(&sql);
    return ok;
}

static bool judge_change(struct db *db, struct dead_letter_verdict *v, const struct order_record *record, bool found,
                         struct error *err)
{
    v->fate = found ? DEAD_LETTER_SEND : DEAD_LETTER_REFUSE;
    snprintf(v->why, sizeof v->why, "order %s is %s", v->order_no,
             found ? order_status_name(record->status) : "not there");
    return !is_topic(v, TOPOLOGY_QUEUE_PAID) || judge_payment(db, v, err);
}

static bool count_replays(struct db *db, int64_t id, int64_t *out, struct error *err)
{
    char sql[128];

    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM dead_letter_action WHERE letter_id=%" PRId64 " AND action='replayed'", id);
    return db_query_i64(db, slice_of(sql), 0, out, err);
}

static bool judge_by_order(struct db *db, struct dead_letter_verdict *v, int64_t max, struct error *err)
{
    struct order_record record;
    bool found;

    if (!order_record_read(db, v->order_no, &record, &found, err))
        return false;
    if (v->is_order)
        return judge_order(db, v, &record, found, max, err);
    return judge_change(db, v, &record, found, err);
}

bool dead_letter_judge_replay(struct db *db, const struct dead_letter_row *row, const char *create_queue, int64_t max,
                              struct dead_letter_verdict *out, struct error *err)
{
    *out = (struct dead_letter_verdict){.fate = DEAD_LETTER_REFUSE};
    if (row->state != DEAD_LETTER_OPEN) {
        dead_letter_refuse(out, "it is %s", dead_letter_state_name(row->state));
        return true;
    }
    if (!read_letter(row, create_queue, out))
        return true;
    if (!count_replays(db, row->id, &out->replays, err))
        return false;
    if (out->order_no[0]) {
        if (!judge_by_order(db, out, max, err))
            return false;
    } else {
        out->fate = DEAD_LETTER_SEND;
        snprintf(out->why, sizeof out->why, "it names several orders");
    }
    if (out->fate == DEAD_LETTER_SEND && out->replays >= max)
        dead_letter_refuse(out, "it was replayed %" PRId64 " times and came back", out->replays);
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

static char *compose_headers(const struct dead_letter_row *row, const struct dead_letter_outgoing *m)
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
    set_text(new, "message-id", m->message_id);
    set_text(new, "content-type", m->content_type);
    out = json_dumps(new, JSON_COMPACT);
    CHECK(out != NULL);
    json_decref(old);
    json_decref(new);
    return out;
}

void dead_letter_add_outgoing(const struct db *db, struct strbuf *sql, const struct dead_letter_row *row,
                              const struct dead_letter_outgoing *m)
{
    char *headers = compose_headers(row, m);

    strbuf_addf(sql,
                "INSERT INTO local_message SET message_key='%s',topic='%s',due_at=UTC_TIMESTAMP(6)+INTERVAL %" PRId64
                " MICROSECOND,headers=",
                m->key, m->topic, m->due_in_us);
    db_add_quoted(db, sql, slice_of(headers));
    strbuf_add_char(sql, ',');
    dead_letter_set_bytes(db, sql, "payload", m->payload);
    strbuf_cut(sql, sql->len - 1);
    free(headers);
}

/* The message, and that it was made of the letter. */
static void add_sending(const struct db *db, struct strbuf *sql, const struct dead_letter_row *row,
                        const struct dead_letter_verdict *v, const char *key, const char *who, int64_t due_in_us)
{
    struct dead_letter_message made = {
        .letter_id = row->id, .key = slice_of(key), .order_no = slice_of(v->order_no), .who = slice_of(who)};
    struct dead_letter_outgoing message = {.key = key,
                                           .topic = v->topic,
                                           .message_id = row->message_id,
                                           .content_type = row->content_type,
                                           .payload = row->body,
                                           .due_in_us = due_in_us};

    dead_letter_add_body_guard(sql, row->id, row->body_id);
    dead_letter_add_message(db, sql, &made);
    strbuf_add_char(sql, ';');
    dead_letter_add_outgoing(db, sql, row, &message);
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

    CHECK(send || verdict->fate == DEAD_LETTER_RESOLVE);
    snprintf(key, sizeof key, "replay:%" PRId64 ":%" PRId64, row->id, verdict->replays + 1);
    snprintf(note, sizeof note, "%s%s%s", verdict->why, send ? "; sent as " : "", send ? key : "");
    move.note = slice_of(note);
    if (send) {
        add_sending(db, &sql, row, verdict, key, who, due_in_us);
        move.with = (struct slice){sql.data, sql.len};
    }
    FAULT(REPLAY_BEFORE_COMMIT);
    ok = dead_letter_store_move(db, row->id, &move, &result, &was, err);
    strbuf_release(&sql);
    *done = ok && result == DEAD_LETTER_MOVED;
    if (!ok && err->code == ERROR_DB_CHECK) { /* its body is another by now */
        error_clear(err);
        return true;
    }
    return ok;
}
