/* orderctl dlq replay: judges all letters first, and does what was confirmed. With another body for a letter (--edit,
 * --editor) that is judged as if it were in force, put in force where it qualifies and was confirmed, and then replayed
 * like any other: killed in between, the letter is open with its new body, and needs no --edit any more. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dlq_edit.h"
#include "dlq_made.h"
#include "orderd/dead_letter_renew.h"
#include "orderd/fault.h"
#include "record.h"

#define PAGE 1000 /* lines of the report */

struct replaying {
    struct ctl *ctl;
    struct db *db;
    char who[CTL_WHO_MAX];
    struct table table;
    struct strbuf line;
    struct kv *kv; /* opened where a letter needs it */
    bool act;      /* else only shows */
    int64_t sent, renewed, resolved, refused;
    struct {
        bool wanted, in_force;
        struct strbuf body;
        char path[DLQ_EDIT_PATH]; /* of what an editor wrote; "" */
    } edit;
    /* the letter in hand: what dead_letter_store_get showed, kept while no query runs */
    struct dead_letter_row row;
    struct strbuf texts[7];
    struct slice own_body;        /* what was drained */
    struct dead_letter_body body; /* what is in force instead */
};

static struct slice keep(struct strbuf *to, struct slice text)
{
    strbuf_reset(to);
    strbuf_add_slice(to, text);
    return (struct slice){text.ptr ? to->data : NULL, to->len};
}

static void take(void *arg, const struct dead_letter_row *row)
{
    struct replaying *r = arg;

    r->row = *row;
    r->row.message_id = keep(&r->texts[0], row->message_id);
    r->row.reason = keep(&r->texts[1], row->reason);
    r->row.queue = keep(&r->texts[2], row->queue);
    r->row.content_type = keep(&r->texts[3], row->content_type);
    r->row.headers = keep(&r->texts[4], row->headers);
    r->own_body = r->row.body = keep(&r->texts[5], row->body);
    r->row.order_no = keep(&r->texts[6], row->order_no);
    r->row.detail = (struct slice){"", 0};
}

static struct slice bytes_of(const struct strbuf *sb)
{
    return (struct slice){sb->data ? sb->data : "", sb->len};
}

static const char *word(const struct replaying *r, enum dead_letter_fate fate)
{
    static const char *const done[] = {"replayed", "renewed", "resolved", "refused"};
    static const char *const would[] = {"would_be_replayed", "would_be_renewed", "would_be_resolved",
                                        "would_be_refused"};

    return r->act ? done[fate] : would[fate];
}

/* ---- report ---- */

static void record(struct replaying *r, int64_t id, const struct dead_letter_verdict *v)
{
    struct strbuf *line = &r->line;

    record_open(line, NULL, '{');
    record_number(line, "id", id);
    record_text(line, "result", word(r, v->fate));
    record_text(line, "why", v->why);
    record_text(line, "new_order", v->fate == DEAD_LETTER_RENEW ? v->renewal.next : NULL);
    if (r->edit.wanted) {
        record_open(line, "edit", '{');
        dlq_made_record_bytes(line, "before", r->own_body);
        dlq_made_record_bytes(line, "after", bytes_of(&r->edit.body));
        record_close(line, '}');
    }
    record_close(line, '}');
    record_print(line);
}

static void report(struct replaying *r, int64_t id, const struct dead_letter_verdict *v)
{
    int64_t *const counts[] = {&r->sent, &r->renewed, &r->resolved, &r->refused};

    ++*counts[v->fate];
    if (r->ctl->json) {
        record(r, id, v);
        return;
    }
    table_number(&r->table, id);
    table_text(&r->table, word(r, v->fate), v->fate == DEAD_LETTER_REFUSE ? TINT_BAD : TINT_CHANGED);
    table_text(&r->table, v->why, TINT_NONE);
}

/* ---- judgement ---- */

/* The body that would be sent: the one that is to be put in force, the one that is, or the letter's own. */
static void choose_body(struct replaying *r)
{
    r->row.body_id = r->body.id;
    if (r->edit.wanted && !r->edit.in_force) {
        r->row.body = bytes_of(&r->edit.body);
        r->row.body_id = -1; /* none of the table's */
    } else if (r->body.id) {
        r->row.body = bytes_of(&r->body.bytes);
    }
}

static bool read_letter(struct replaying *r, int64_t id, bool *found, struct error *err)
{
    return dead_letter_body_read(r->db, id, &r->body, err) && dead_letter_store_get(r->db, id, take, r, found, err);
}

/* Only what concerns stock needs Redis. */
static bool foresee(struct replaying *r, struct dead_letter_verdict *v, struct error *err)
{
    bool needed = v->fate == DEAD_LETTER_RENEW || (v->fate == DEAD_LETTER_SEND && v->is_order);

    if (!needed)
        return true;
    if (!r->kv && !(r->kv = ctl_open_kv(r->ctl, err)))
        return false;
    return dead_letter_foresee(r->db, r->kv, &r->row, v, err);
}

static bool judge(struct replaying *r, int64_t id, struct dead_letter_verdict *v, struct error *err)
{
    int64_t max = r->ctl->values[CTL_OPTION_dlq_replay_max].number;
    bool found;

    *v = (struct dead_letter_verdict){.fate = DEAD_LETTER_REFUSE, .why = "there is no such letter"};
    if (!read_letter(r, id, &found, err))
        return false;
    if (!found)
        return true;
    choose_body(r);
    return dead_letter_judge_replay(r->db, &r->row, r->ctl->conf->create_queue, max, v, err) && foresee(r, v, err);
}

/* ---- doing it ---- */

static int64_t due_in_us(const struct replaying *r)
{
    return (r->sent + r->renewed) * 1000000 / r->ctl->values[CTL_OPTION_dlq_replay_rate].number;
}

static bool renew(struct replaying *r, struct dead_letter_verdict *v, struct error *err)
{
    struct dead_letter_renewing with = {
        .db = r->db, .kv = r->kv, .who = r->who, .silent = !r->ctl->conf->events_enabled, .due_in_us = due_in_us(r)};

    if (!dead_letter_renew(&with, &r->row, v, err))
        return false;
    if (v->fate == DEAD_LETTER_RENEW)
        FAULT(REPLAY_AFTER_COMMIT);
    return true;
}

/* The same judgement again, on what is there now. */
static bool act(struct replaying *r, struct dead_letter_verdict *v, struct error *err)
{
    bool done;

    if (v->fate == DEAD_LETTER_REFUSE)
        return true;
    if (v->fate == DEAD_LETTER_RENEW)
        return renew(r, v, err);
    if (!dead_letter_replay(r->db, &r->row, v, r->who, due_in_us(r), &done, err))
        return false;
    if (done)
        FAULT(REPLAY_AFTER_COMMIT);
    else
        *v = (struct dead_letter_verdict){.fate = DEAD_LETTER_REFUSE, .why = "somebody else was faster"};
    return true;
}

static bool go_over(struct replaying *r, const struct dlq_ids *ids, bool silently, int64_t *qualified,
                    struct error *err)
{
    struct dead_letter_verdict v;

    *qualified = 0;
    for (size_t i = 0; i < ids->count; i++) {
        if (!judge(r, ids->list[i], &v, err) || (r->act && !silently && !act(r, &v, err)))
            return false;
        *qualified += v.fate != DEAD_LETTER_REFUSE;
        if (!silently)
            report(r, ids->list[i], &v);
        if (i % PAGE == PAGE - 1)
            table_flush(r->ctl, &r->table);
        print_progress(r->ctl, "%zu of %zu %s", i + 1, ids->count, r->act && !silently ? "done" : "looked at");
    }
    return true;
}

static bool confirmed(struct replaying *r, const struct dlq_ids *ids, struct error *err)
{
    int64_t number = r->ctl->values[CTL_OPTION_dlq_replay_confirm].number, qualified;

    if (!r->act)
        return true;
    if (!go_over(r, ids, true, &qualified, err))
        return false;
    if (qualified == number)
        return true;
    ctl_advise(r->ctl, "look at them without --confirm");
    return error_set(err, ERROR_REFUSED, "%" PRId64 " letters would be replayed, renewed or resolved, not %" PRId64,
                     qualified, number);
}

/* ---- another body ---- */

/* From the file, or from the person; the letter in hand is the one that is edited. */
static bool read_edit(struct replaying *r, struct error *err)
{
    const struct ctl_value *file = &r->ctl->values[CTL_OPTION_dlq_replay_edit];
    struct slice now = r->body.id ? bytes_of(&r->body.bytes) : r->own_body;

    return file->set ? dlq_edit_read(file->text, &r->edit.body, err)
                     : dlq_edit_in_editor(r->ctl, now, r->edit.path, &r->edit.body, err);
}

/* A body that could be taken is somebody's order or payment, whatever became of it: it is not to be rewritten. */
static bool may_be_edited(const struct replaying *r, struct error *err)
{
    const char *queue = r->ctl->conf->create_queue;
    struct dead_letter_row own = r->row;
    char why[200];

    own.body = r->own_body;
    if (own.state != DEAD_LETTER_OPEN)
        return error_set(err, ERROR_REFUSED, "letter %" PRId64 " is %s", own.id, dead_letter_state_name(own.state));
    if (dead_letter_can_be_taken(&own, queue, why, sizeof why))
        return error_set(err, ERROR_REFUSED, "letter %" PRId64 " has a body that can be taken; it needs no other",
                         own.id);
    return true;
}

static bool is_good(struct replaying *r, struct error *err)
{
    struct dead_letter_row new = r->row;
    char why[200];

    new.body = bytes_of(&r->edit.body);
    if (dead_letter_can_be_taken(&new, r->ctl->conf->create_queue, why, sizeof why))
        return true;
    if (r->edit.path[0])
        ctl_advise(r->ctl, "what you wrote is kept as %s", r->edit.path);
    return error_set(err, ERROR_INPUT_INVALID, "with the new body: %s", why);
}

static bool begin_edit(struct replaying *r, const struct dlq_ids *ids, struct error *err)
{
    const struct ctl_value *values = r->ctl->values;
    bool found;

    if (!values[CTL_OPTION_dlq_replay_edit].set && !values[CTL_OPTION_dlq_replay_editor].set)
        return true;
    if (!read_letter(r, ids->list[0], &found, err))
        return false;
    if (!found)
        return error_set(err, ERROR_REFUSED, "there is no letter %" PRId64, ids->list[0]);
    if (!may_be_edited(r, err) || !read_edit(r, err) || !is_good(r, err))
        return false;
    r->edit.wanted = true;
    if (!r->ctl->json)
        dlq_edit_show(r->ctl, r->own_body, bytes_of(&r->edit.body));
    return true;
}

/* Confirmed, and it qualifies. The same body again is no edit. */
static bool put_in_force(struct replaying *r, const struct dlq_ids *ids, struct error *err)
{
    struct dead_letter_verdict v;
    bool stored = true;

    if (!r->edit.wanted || !r->act)
        return true;
    if (!judge(r, ids->list[0], &v, err))
        return false;
    if (v.fate == DEAD_LETTER_REFUSE)
        return true; /* the report says so */
    if (!(r->body.id && slice_equal(bytes_of(&r->body.bytes), bytes_of(&r->edit.body))) &&
        !dead_letter_body_store(r->db, &r->row, &r->body, r->own_body, bytes_of(&r->edit.body), r->who, &stored, err))
        return false;
    if (!stored)
        return error_set(err, ERROR_REFUSED, "somebody else changed letter %" PRId64 " meanwhile", ids->list[0]);
    FAULT(EDIT_AFTER_COMMIT);
    r->edit.in_force = true;
    return true;
}

static bool one_is_edited(struct ctl *ctl, struct error *err)
{
    const struct ctl_value *file = &ctl->values[CTL_OPTION_dlq_replay_edit];
    bool editor = ctl->values[CTL_OPTION_dlq_replay_editor].set;

    if (!file->set && !editor)
        return true;
    if (file->set && editor)
        return ctl_misuse(ctl, err, "give the new body by --edit or by --editor, not both");
    if (ctl->operand_count != 1 || strcmp(ctl->operands[0], "-") == 0)
        return ctl_misuse(ctl, err, "name one letter: a new body is of one alone");
    return true;
}

/* ---- the command ---- */

/* What an editor wrote is kept where it is not in force, for --edit. */
static void end_edit(struct replaying *r, const struct dlq_ids *ids)
{
    if (r->edit.path[0] && r->edit.in_force)
        unlink(r->edit.path);
    else if (r->edit.path[0] && r->edit.wanted)
        print_note(r->ctl, "what you wrote is kept: `orderctl dlq replay %" PRId64 " --edit %s`", ids->list[0],
                   r->edit.path);
}

static void conclude(const struct replaying *r, const struct dlq_selection *chosen)
{
    int64_t able = r->sent + r->renewed + r->resolved;
    char confirm[64] = "";

    if (able > 0)
        snprintf(confirm, sizeof confirm, "; `--confirm %" PRId64 "` does it", able);
    if (chosen->ids.count == 0)
        print_note(r->ctl, chosen->named ? "standard input named no letter" : "there is no such letter");
    else if (!r->act)
        print_note(r->ctl,
                   "%" PRId64 " would be replayed, %" PRId64 " renewed, %" PRId64 " resolved, %" PRId64
                   " refused; nothing was changed%s",
                   r->sent, r->renewed, r->resolved, r->refused, confirm);
    else
        print_note(r->ctl,
                   "%" PRId64 " are replayed, %" PRId64 " renewed, %" PRId64 " resolved, %" PRId64
                   " refused; a running orderd sends them",
                   r->sent, r->renewed, r->resolved, r->refused);
    if (r->refused)
        r->ctl->code = EXIT_PARTIAL;
}

static void release(struct replaying *r)
{
    for (size_t i = 0; i < sizeof r->texts / sizeof *r->texts; i++)
        strbuf_release(&r->texts[i]);
    strbuf_release(&r->line);
    strbuf_release(&r->edit.body);
    dead_letter_body_release(&r->body);
    kv_close(&r->kv);
    db_close(&r->db);
}

bool ctl_dlq_replay(struct ctl *ctl, struct error *err)
{
    static const char *const heads[] = {"-LETTER", "RESULT", "WHY"};
    struct replaying r = {.ctl = ctl, .act = ctl->values[CTL_OPTION_dlq_replay_confirm].set};
    struct dlq_selection chosen;
    int64_t qualified, done;
    bool ok;

    if (!one_is_edited(ctl, err))
        return false;
    ctl_who(r.who);
    table_begin(&r.table, heads, sizeof heads / sizeof *heads);
    ok = dlq_select_to_change(ctl, DEAD_LETTER_OPEN, &chosen, err) && (r.db = ctl_open_schema(ctl, err)) &&
         dlq_select_now(ctl, r.db, &chosen, err) && begin_edit(&r, &chosen.ids, err) &&
         confirmed(&r, &chosen.ids, err) && put_in_force(&r, &chosen.ids, err) &&
         go_over(&r, &chosen.ids, false, &qualified, err);
    print_progress_end();
    table_end(ctl, &r.table);
    done = r.sent + r.renewed + r.resolved;
    if (ok)
        conclude(&r, &chosen);
    else if (r.act && done > 0)
        ctl_advise(ctl, "%" PRId64 " were done before that; run it again for the rest", done);
    end_edit(&r, &chosen.ids);
    release(&r);
    dlq_select_free(&chosen);
    return ok;
}
