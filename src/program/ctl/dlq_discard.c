/* orderctl dlq discard and restore. Letter by letter:
 *
 *   killed before                     nothing is done; again: as if it were the first time
 *   killed after a letter was marked  again: it is discarded already, and the next ones follow
 *
 * Where its order is rejected with it, that is the same transaction: so nobody can have sent the letter meanwhile.
 */
#include <inttypes.h>
#include <stdio.h>

#include "dlq.h"
#include "orderd/dead_letter_made.h"
#include "orderd/fault.h"
#include "record.h"

#define PAGE 1000 /* lines of the report */

struct moving {
    struct ctl *ctl;
    struct db *db;
    struct kv *kv; /* opened where a letter needs it */
    struct dead_letter_move move;
    const char *done, *would; /* result words */
    char who[CTL_WHO_MAX];
    struct table table;
    struct strbuf line;
    struct dlq_selection chosen;
    int64_t moved, refused;
    /* of the letter in hand */
    struct order order;
    bool is_order;
    struct dead_letter_end end;
    struct dead_letter_body body;
};

/* ---- report ---- */

static const char *result_word(const struct moving *m, enum dead_letter_moved result)
{
    switch (result) {
    case DEAD_LETTER_MOVED:
        return m->move.dry_run ? m->would : m->done;
    case DEAD_LETTER_THERE:
        return "already";
    case DEAD_LETTER_OTHER:
        return "refused";
    default:
        return "missing";
    }
}

static void explain(const struct moving *m, enum dead_letter_moved result, enum dead_letter_state was, char *out,
                    size_t size)
{
    out[0] = '\0';
    if (result == DEAD_LETTER_OTHER)
        snprintf(out, size, "it is %s", dead_letter_state_name(was));
    else if (result == DEAD_LETTER_GONE)
        snprintf(out, size, "there is no such letter");
    else if (result == DEAD_LETTER_MOVED && m->end.decides)
        snprintf(out, size, "order %s %s rejected, units that go back on sale: %" PRId32, m->end.order.order_no,
                 m->move.dry_run ? "would be" : "is", m->end.units);
}

static void report(struct moving *m, int64_t id, enum dead_letter_moved result, enum dead_letter_state was)
{
    bool good = result == DEAD_LETTER_MOVED || result == DEAD_LETTER_THERE;
    char detail[160];

    m->moved += result == DEAD_LETTER_MOVED;
    m->refused += !good;
    explain(m, result, was, detail, sizeof detail);
    if (m->ctl->json) {
        record_open(&m->line, NULL, '{');
        record_number(&m->line, "id", id);
        record_text(&m->line, "result", result_word(m, result));
        record_text(&m->line, "detail", detail[0] ? detail : NULL);
        record_close(&m->line, '}');
        record_print(&m->line);
        return;
    }
    table_number(&m->table, id);
    table_text(&m->table, result_word(m, result), good ? TINT_CHANGED : TINT_BAD);
    table_text(&m->table, detail, TINT_NONE);
}

/* ---- discard: what would come to life again, or stay taken ---- */

static void look(void *arg, const struct dead_letter_row *row)
{
    struct moving *m = arg;
    struct dead_letter_row as_sent = *row;

    if (m->body.id)
        as_sent.body = (struct slice){m->body.bytes.data, m->body.bytes.len};
    m->is_order =
        row->state == DEAD_LETTER_OPEN && dead_letter_is_order(&as_sent, m->ctl->conf->create_queue, &m->order);
}

/* *done: the letter is discarded, with its order. */
static bool decide(struct moving *m, int64_t id, bool *done, struct error *err)
{
    bool found;

    *done = m->is_order = m->end.decides = false;
    if (!dead_letter_body_read(m->db, id, &m->body, err) || !dead_letter_store_get(m->db, id, look, m, &found, err))
        return false;
    if (!m->is_order)
        return true;
    if (!m->kv && !(m->kv = ctl_open_kv(m->ctl, err)))
        return false;
    if (!dead_letter_foresee_end(m->db, m->kv, &m->order, &m->end, err))
        return false;
    if (!m->end.decides || m->move.dry_run)
        return true;
    FAULT(DISCARD_BEFORE_DECISION);
    if (!dead_letter_reject(m->db, id, &m->end, &m->move, !m->ctl->conf->events_enabled, done, err))
        return false;
    FAULT(DISCARD_AFTER_DECISION);
    m->end.decides = *done;
    return true;
}

/* ---- work ---- */

static bool move_one(struct moving *m, int64_t id, struct error *err)
{
    enum dead_letter_moved result = DEAD_LETTER_MOVED;
    enum dead_letter_state was = m->move.from;
    bool done = false;

    if (m->move.to == DEAD_LETTER_DISCARDED && !decide(m, id, &done, err))
        return false;
    if (!done && !dead_letter_store_move(m->db, id, &m->move, &result, &was, err))
        return false;
    if (result == DEAD_LETTER_MOVED && !m->move.dry_run)
        FAULT(DISCARD_AFTER_LETTER);
    report(m, id, result, was);
    return true;
}

static bool move_all(struct moving *m, struct error *err)
{
    const struct dlq_ids *ids = &m->chosen.ids;

    for (size_t i = 0; i < ids->count; i++) {
        if (!move_one(m, ids->list[i], err))
            return false;
        if (i % PAGE == PAGE - 1)
            table_flush(m->ctl, &m->table);
        print_progress(m->ctl, "%zu of %zu", i + 1, ids->count);
    }
    return true;
}

static void conclude(struct moving *m)
{
    size_t all = m->chosen.ids.count;

    if (all == 0)
        print_note(m->ctl, m->chosen.named ? "standard input named no letter" : "there is no such letter");
    else if (!m->move.dry_run)
        print_note(m->ctl, "%" PRId64 " of %zu are %s now", m->moved, all, m->done);
    else if (m->chosen.named)
        print_note(m->ctl, "%" PRId64 " of %zu would be %s; nothing was changed", m->moved, all, m->done);
    else
        print_note(m->ctl,
                   "%" PRId64 " of %zu would be %s; nothing was changed; `--confirm %" PRId64 "` in the place of "
                   "--dry-run does it",
                   m->moved, all, m->done, m->moved);
    if (m->refused)
        m->ctl->code = EXIT_PARTIAL;
}

static bool run(struct moving *m, struct error *err)
{
    static const char *const heads[] = {"-LETTER", "RESULT", "DETAIL"};
    bool ok;

    m->move.who = ctl_who(m->who);
    table_begin(&m->table, heads, sizeof heads / sizeof *heads);
    ok = dlq_select_to_change(m->ctl, m->move.from, &m->chosen, err) && (m->db = ctl_open_schema(m->ctl, err)) &&
         dlq_select_now(m->ctl, m->db, &m->chosen, err) &&
         dlq_select_confirmed(m->ctl, m->db, m->move.from, &m->chosen, err) && move_all(m, err);
    print_progress_end();
    table_end(m->ctl, &m->table);
    if (ok)
        conclude(m);
    else if (m->moved && !m->move.dry_run)
        ctl_advise(m->ctl, "%" PRId64 " were %s before that; run the same command again for the rest%s", m->moved,
                   m->done, m->chosen.named ? "" : ", with --dry-run first");
    kv_close(&m->kv);
    db_close(&m->db);
    dlq_select_free(&m->chosen);
    dead_letter_body_release(&m->body);
    strbuf_release(&m->line);
    return ok;
}

bool ctl_dlq_discard(struct ctl *ctl, struct error *err)
{
    struct moving m = {.ctl = ctl,
                       .done = "discarded",
                       .would = "would_be_discarded",
                       .move = {.from = DEAD_LETTER_OPEN,
                                .to = DEAD_LETTER_DISCARDED,
                                .action = "discarded",
                                .note = slice_of(ctl->values[CTL_OPTION_dlq_discard_note].text),
                                .dry_run = ctl->values[CTL_OPTION_dlq_discard_dry_run].set}};

    return run(&m, err);
}

bool ctl_dlq_restore(struct ctl *ctl, struct error *err)
{
    const struct ctl_value *note = &ctl->values[CTL_OPTION_dlq_restore_note];
    struct moving m = {.ctl = ctl,
                       .done = "restored",
                       .would = "would_be_restored",
                       .move = {.from = DEAD_LETTER_DISCARDED,
                                .to = DEAD_LETTER_OPEN,
                                .action = "restored",
                                .note = slice_of(note->set ? note->text : ""),
                                .dry_run = ctl->values[CTL_OPTION_dlq_restore_dry_run].set}};

    return run(&m, err);
}
