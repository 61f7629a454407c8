/* orderctl outbox purge */
#include <inttypes.h>
#include <stdio.h>

#include "orderd/activity_store.h"
#include "outbox.h"
#include "record.h"
#include "tally.h"

struct purging {
    struct ctl *ctl;
    struct db *db;
    enum local_message_state state;
    bool dry_run, at_once;        /* at_once: each page is deleted as soon as it is read */
    struct tally *topics, *named; /* named: ids, so that a row with two names counts once */
    struct outbox_picks picks;
    int64_t rows, stock_returns, deleted;
    size_t not_so; /* named, but missing or in another state */
};

/* ---- choose ---- */

static void take_row(void *arg, const struct local_message_row *row)
{
    struct purging *p = arg;

    p->rows++;
    p->stock_returns += effect_of_topic(row->topic) == EFFECT_STOCK_RETURN;
    tally_add(&p->topics, row->topic);
    outbox_picks_add(&p->picks, row->id, row->state);
}

static void take_named(void *arg, const struct local_message_ref *name, const struct local_message_row *row)
{
    struct purging *p = arg;
    char text[OUTBOX_NAME_TEXT];

    if (tally_add(&p->named, (struct slice){(const char *)&row->id, sizeof row->id}) > 1)
        return;
    if (row->state == p->state) {
        take_row(arg, row);
        return;
    }
    p->not_so++;
    print_warning("%s is %s and stays", outbox_name_text(text, name), local_message_state_name(row->state));
}

static void warn_missing(void *arg, const struct local_message_ref *name)
{
    struct purging *p = arg;
    char text[OUTBOX_NAME_TEXT];

    p->not_so++;
    print_warning("there is no %s", outbox_name_text(text, name));
}

/* ---- the state of what is named ---- */

struct states {
    size_t count[LOCAL_MESSAGE_STATE_COUNT];
};

static void count_state(void *arg, const struct local_message_ref *name, const struct local_message_row *row)
{
    (void)name;
    ((struct states *)arg)->count[row->state]++;
}

static void count_none(void *arg, const struct local_message_ref *name)
{
    (void)arg, (void)name;
}

/* Without --state. What changes after this look is left alone, as everything is that is in another state. */
static bool find_state(struct purging *p, const struct outbox_names *names, struct error *err)
{
    const struct ctl_value *v = p->ctl->values;
    struct states s = {{0}};

    if (!outbox_find(p->db, names, count_state, count_none, &s, err))
        return false;
    if (s.count[LOCAL_MESSAGE_STATE_SENT] && s.count[LOCAL_MESSAGE_STATE_QUARANTINED])
        return ctl_misuse(p->ctl, err, "some of these are sent and some quarantined; say which, with --state");
    if (s.count[LOCAL_MESSAGE_STATE_QUARANTINED])
        p->state = LOCAL_MESSAGE_STATE_QUARANTINED;
    if (p->state == LOCAL_MESSAGE_STATE_QUARANTINED && !v[CTL_OPTION_outbox_purge_confirm].set && !p->dry_run)
        return ctl_misuse(
            p->ctl, err,
            "what is quarantined was never sent; deleting it needs --confirm with the number of rows that "
            "--dry-run names");
    return true;
}

static bool filter_of(struct purging *p, struct local_message_filter *f, struct error *err)
{
    const struct ctl_value *v = p->ctl->values;
    int64_t now;

    if (!activity_store_now(p->db, &now, err))
        return false;
    *f = (struct local_message_filter){.by_state = true, .state = p->state};
    f->topic = outbox_text(&v[CTL_OPTION_outbox_purge_topic]);
    f->key = outbox_text(&v[CTL_OPTION_outbox_purge_key]);
    f->since = outbox_instant(&v[CTL_OPTION_outbox_purge_since], now);
    f->until = outbox_instant(&v[CTL_OPTION_outbox_purge_until], now);
    /* Without an age: what is in this state by now, so that a busy table has an end. */
    f->settled_before = now + 1;
    if (v[CTL_OPTION_outbox_purge_older_than].set)
        f->settled_before = now - v[CTL_OPTION_outbox_purge_older_than].number;
    return true;
}

/* ---- delete ---- */

static bool delete_picks(struct purging *p, struct error *err)
{
    int64_t ids[LOCAL_MESSAGE_BATCH_MAX];
    size_t at = 0, deleted;

    while (at < p->picks.count) {
        size_t count = 0;

        while (count < LOCAL_MESSAGE_BATCH_MAX && at < p->picks.count)
            ids[count++] = p->picks.list[at++].id;
        if (!local_message_purge(p->db, ids, count, p->state, &deleted, err))
            return false;
        p->deleted += (int64_t)deleted;
        print_progress(p->ctl, "%" PRId64 " deleted", p->deleted);
    }
    p->picks.count = 0;
    return true;
}

static bool go_over(struct purging *p, struct error *err)
{
    struct local_message_filter filter;
    struct local_message_walk walk = {.filter = &filter};

    if (!filter_of(p, &filter, err))
        return false;
    while (!walk.end) {
        if (!local_message_page(p->db, &walk, LOCAL_MESSAGE_BATCH_MAX, take_row, p, err) ||
            (p->at_once && !delete_picks(p, err)))
            return false;
        if (p->dry_run)
            p->picks.count = 0; /* only counted */
        print_progress(p->ctl, "%" PRId64 " found, %" PRId64 " deleted", p->rows, p->deleted);
    }
    return true;
}

static bool confirmed(struct purging *p, struct error *err)
{
    const struct ctl_value *confirm = &p->ctl->values[CTL_OPTION_outbox_purge_confirm];

    if (!confirm->set || confirm->number == p->rows)
        return true;
    ctl_advise(p->ctl, "nothing was deleted; look again with --dry-run");
    return error_set(err, ERROR_REFUSED, "%" PRId64 " rows would be deleted, not the %" PRId64 " of --confirm", p->rows,
                     confirm->number);
}

static bool purge(struct purging *p, const struct outbox_names *names, struct error *err)
{
    bool ok;

    p->at_once = p->state == LOCAL_MESSAGE_STATE_SENT && !p->dry_run;
    ok = names->count ? outbox_find(p->db, names, take_named, warn_missing, p, err) : go_over(p, err);
    if (!ok || !confirmed(p, err))
        return false;
    return p->dry_run || delete_picks(p, err);
}

/* ---- report ---- */

static void record_topic(void *arg, struct slice topic, int64_t count)
{
    struct strbuf *line = arg;

    record_open(line, NULL, '{');
    record_slice(line, "topic", topic);
    record_number(line, "rows", count);
    record_close(line, '}');
}

static void print_record(const struct purging *p)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_text(&line, "state", local_message_state_name(p->state));
    record_bool(&line, "dry_run", p->dry_run);
    record_number(&line, "rows", p->rows);
    record_number(&line, "deleted", p->deleted);
    record_open(&line, "topics", '[');
    tally_each(p->topics, record_topic, &line);
    record_close(&line, ']');
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

static void add_topic(void *arg, struct slice topic, int64_t count)
{
    struct table *table = arg;

    table_number(table, count);
    table_slice(table, topic, TINT_NONE);
}

static void print_text(const struct purging *p)
{
    static const char *const heads[] = {"-ROWS", "TOPIC"};
    struct table table;

    table_begin(&table, heads, 2);
    tally_each(p->topics, add_topic, &table);
    table_end(p->ctl, &table);
}

static void warn_of_loss(const struct purging *p)
{
    if (p->state == LOCAL_MESSAGE_STATE_QUARANTINED && p->stock_returns)
        print_warning("%" PRId64 " of these are stock.return: the units they give back %s on sale again; `orderctl "
                      "outbox retry` sends them instead",
                      p->stock_returns, p->dry_run ? "would never be" : "are never");
}

static void conclude(struct purging *p)
{
    const struct ctl *ctl = p->ctl;

    if (p->rows == 0)
        print_note(ctl, "there is nothing to delete");
    else if (!p->dry_run)
        print_note(ctl, "%" PRId64 " rows are deleted%s", p->deleted,
                   p->state == LOCAL_MESSAGE_STATE_SENT && p->deleted < p->rows
                       ? "; the others tell how often the message of an order that is not there yet was sent again"
                       : "");
    else if (p->state == LOCAL_MESSAGE_STATE_SENT)
        print_note(ctl, "%" PRId64 " rows would be deleted; nothing was changed", p->rows);
    else
        print_note(ctl,
                   "%" PRId64 " rows would be deleted, and what they hold never be sent; nothing was changed; "
                   "`--confirm %" PRId64 "` in the place of --dry-run deletes them",
                   p->rows, p->rows);
    if (p->not_so || (!p->dry_run && p->state == LOCAL_MESSAGE_STATE_QUARANTINED && p->deleted < p->rows))
        p->ctl->code = EXIT_PARTIAL;
}

static bool usage(struct ctl *ctl, enum local_message_state state, struct error *err)
{
    const struct ctl_value *v = ctl->values;
    bool quarantined = state == LOCAL_MESSAGE_STATE_QUARANTINED, stated = v[CTL_OPTION_outbox_purge_state].set;

    if (!stated && ctl->operand_count == 0)
        return ctl_misuse(ctl, err, "--state is missing, or KEY|ID");
    if (ctl->operand_count && (v[CTL_OPTION_outbox_purge_older_than].set || v[CTL_OPTION_outbox_purge_topic].set ||
                               v[CTL_OPTION_outbox_purge_key].set || v[CTL_OPTION_outbox_purge_since].set ||
                               v[CTL_OPTION_outbox_purge_until].set))
        return ctl_misuse(ctl, err, "name messages or choose them by options, not both");
    if (stated && !quarantined && v[CTL_OPTION_outbox_purge_confirm].set)
        return ctl_misuse(ctl, err, "--confirm is for --state quarantined only");
    if (quarantined && !v[CTL_OPTION_outbox_purge_confirm].set && !v[CTL_OPTION_outbox_purge_dry_run].set)
        return ctl_misuse(ctl, err, "--state quarantined needs --confirm with the number of rows that --dry-run names");
    return true;
}

static bool run(struct purging *p, struct error *err)
{
    struct outbox_names names;
    bool ok = outbox_names_read(p->ctl, &names, err) && (p->db = ctl_open_schema(p->ctl, err)), empty;

    /* Nothing on standard input names nothing, not everything. */
    empty = p->ctl->operand_count && names.count == 0;
    ok = ok && (empty || p->ctl->values[CTL_OPTION_outbox_purge_state].set || find_state(p, &names, err));
    ok = ok && (empty || purge(p, &names, err));
    print_progress_end();
    if (!ok && p->deleted)
        ctl_advise(p->ctl, "%" PRId64 " rows were deleted before that; run it again for the rest%s", p->deleted,
                   p->state == LOCAL_MESSAGE_STATE_QUARANTINED ? ", with --dry-run first" : "");
    db_close(&p->db);
    outbox_names_free(&names);
    return ok;
}

bool ctl_outbox_purge(struct ctl *ctl, struct error *err)
{
    const struct ctl_value *v = ctl->values;
    struct purging p = {
        .ctl = ctl, .state = LOCAL_MESSAGE_STATE_SENT, .dry_run = v[CTL_OPTION_outbox_purge_dry_run].set};
    bool ok;

    if (v[CTL_OPTION_outbox_purge_state].set)
        (void)local_message_state_of_name(outbox_text(&v[CTL_OPTION_outbox_purge_state]), &p.state);
    if (!usage(ctl, p.state, err))
        return false;
    ok = run(&p, err);
    if (ok) {
        if (ctl->json)
            print_record(&p);
        else
            print_text(&p);
        warn_of_loss(&p);
        conclude(&p);
    }
    tally_free(&p.topics);
    tally_free(&p.named);
    outbox_picks_free(&p.picks);
    return ok;
}
