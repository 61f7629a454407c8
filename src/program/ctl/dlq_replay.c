/* orderctl dlq replay: judges all letters first, and does what was confirmed. */
#include <inttypes.h>
#include <stdio.h>

#include "dlq.h"
#include "orderd/fault.h"
#include "record.h"

struct replaying {
    struct ctl *ctl;
    struct db *db;
    char who[CTL_WHO_MAX];
    struct table table;
    struct strbuf line;
    bool act; /* else only shows */
    int64_t sent, resolved, refused;
    /* the letter in hand: what dead_letter_store_get showed, kept while no query runs */
    struct dead_letter_row row;
    struct strbuf texts[7];
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
    r->row.body = keep(&r->texts[5], row->body);
    r->row.order_no = keep(&r->texts[6], row->order_no);
    r->row.detail = (struct slice){"", 0};
}

static const char *word(const struct replaying *r, enum dead_letter_fate fate)
{
    static const char *const done[] = {"replayed", "resolved", "refused"};
    static const char *const would[] = {"would_be_replayed", "would_be_resolved", "would_be_refused"};

    return r->act ? done[fate] : would[fate];
}

static void report(struct replaying *r, int64_t id, const struct dead_letter_verdict *v)
{
    int64_t *const counts[] = {&r->sent, &r->resolved, &r->refused};

    ++*counts[v->fate];
    if (r->ctl->json) {
        record_open(&r->line, NULL, '{');
        record_number(&r->line, "id", id);
        record_text(&r->line, "result", word(r, v->fate));
        record_text(&r->line, "why", v->why);
        record_close(&r->line, '}');
        record_print(&r->line);
        return;
    }
    table_number(&r->table, id);
    table_text(&r->table, word(r, v->fate), v->fate == DEAD_LETTER_REFUSE ? TINT_BAD : TINT_CHANGED);
    table_text(&r->table, v->why, TINT_NONE);
}

static bool judge(struct replaying *r, int64_t id, struct dead_letter_verdict *v, struct error *err)
{
    int64_t max = r->ctl->values[CTL_OPTION_dlq_replay_max].number;
    bool found;

    *v = (struct dead_letter_verdict){.fate = DEAD_LETTER_REFUSE, .why = "there is no such letter"};
    return dead_letter_store_get(r->db, id, take, r, &found, err) &&
           (!found || dead_letter_judge_replay(r->db, &r->row, r->ctl->conf->create_queue, max, v, err));
}

/* The same judgement again, on what is there now. */
static bool act(struct replaying *r, struct dead_letter_verdict *v, struct error *err)
{
    int64_t rate = r->ctl->values[CTL_OPTION_dlq_replay_rate].number;
    bool done;

    if (v->fate == DEAD_LETTER_REFUSE)
        return true;
    if (!dead_letter_replay(r->db, &r->row, v, r->who, r->sent * 1000000 / rate, &done, err))
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
    return error_set(err, ERROR_REFUSED, "%" PRId64 " letters would be replayed or resolved, not %" PRId64, qualified,
                     number);
}

static void conclude(const struct replaying *r, const struct dlq_selection *chosen)
{
    if (chosen->ids.count == 0)
        print_note(r->ctl, chosen->named ? "standard input named no letter" : "there is no such letter");
    else if (!r->act)
        print_note(r->ctl,
                   "%" PRId64 " would be replayed, %" PRId64 " resolved, %" PRId64
                   " refused; nothing was changed; `--confirm %" PRId64 "` does it",
                   r->sent, r->resolved, r->refused, r->sent + r->resolved);
    else
        print_note(r->ctl,
                   "%" PRId64 " are replayed, %" PRId64 " resolved, %" PRId64 " refused; a running orderd sends them",
                   r->sent, r->resolved, r->refused);
    if (r->refused)
        r->ctl->code = EXIT_PARTIAL;
}

bool ctl_dlq_replay(struct ctl *ctl, struct error *err)
{
    static const char *const heads[] = {"-LETTER", "RESULT", "WHY"};
    struct replaying r = {.ctl = ctl, .act = ctl->values[CTL_OPTION_dlq_replay_confirm].set};
    struct dlq_selection chosen;
    int64_t qualified;
    bool ok;

    ctl_who(r.who);
    table_begin(&r.table, heads, sizeof heads / sizeof *heads);
    ok = dlq_select_to_change(ctl, DEAD_LETTER_OPEN, &chosen, err) && (r.db = ctl_open_schema(ctl, err)) &&
         dlq_select_now(ctl, r.db, &chosen, err) && confirmed(&r, &chosen.ids, err) &&
         go_over(&r, &chosen.ids, false, &qualified, err);
    table_end(ctl, &r.table);
    if (ok)
        conclude(&r, &chosen);
    else if (r.sent + r.resolved > 0)
        ctl_advise(ctl, "%" PRId64 " were done before that; run it again for the rest", r.sent + r.resolved);
    for (size_t i = 0; i < sizeof r.texts / sizeof *r.texts; i++)
        strbuf_release(&r.texts[i]);
    strbuf_release(&r.line);
    dlq_select_free(&chosen);
    db_close(&r.db);
    return ok;
}
