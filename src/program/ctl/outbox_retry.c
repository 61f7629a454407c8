/* orderctl outbox retry: which rows it is about is fixed before the first is changed. */
#include <inttypes.h>
#include <stdio.h>

#include "orderd/clock.h"
#include "outbox.h"
#include "record.h"

struct retrying {
    struct ctl *ctl;
    struct db *db;
    struct local_message_retrying how;
    struct outbox_picks picks;
    struct table table;
    struct strbuf line;
    size_t done, refused;
};

/* ---- report ---- */

static const char *result_of(const struct retrying *r, enum local_message_retry result, enum tint *tint)
{
    static const char *const names[] = {
        [LOCAL_MESSAGE_RETRY_DONE] = "retried", [LOCAL_MESSAGE_RETRY_LEASED] = "leased",
        [LOCAL_MESSAGE_RETRY_SENT] = "sent",    [LOCAL_MESSAGE_RETRY_CHANGED] = "changed",
        [LOCAL_MESSAGE_RETRY_GONE] = "missing",
    };

    *tint = result == LOCAL_MESSAGE_RETRY_DONE ? TINT_CHANGED : TINT_BAD;
    return result == LOCAL_MESSAGE_RETRY_DONE && r->how.dry_run ? "would_be_retried" : names[result];
}

/* Why not; "" where it is. */
static void explain(const struct local_message_row *row, enum local_message_retry result, char *out, size_t size)
{
    char text[32];

    out[0] = '\0';
    switch (result) {
    case LOCAL_MESSAGE_RETRY_DONE:
        break;
    case LOCAL_MESSAGE_RETRY_LEASED:
        snprintf(out, size, "%.*s is sending it right now, or was: its lease ends in %s", (int)row->lease_owner.len,
                 row->lease_owner.ptr ? row->lease_owner.ptr : "",
                 span_text(text, outbox_until(row, row->lease_until)));
        break;
    case LOCAL_MESSAGE_RETRY_SENT:
        snprintf(out, size, "it is sent; --sent sends it again");
        break;
    case LOCAL_MESSAGE_RETRY_CHANGED:
        snprintf(out, size, "it is %s by now", local_message_state_name(row->state));
        break;
    case LOCAL_MESSAGE_RETRY_GONE:
        snprintf(out, size, "there is no such message");
        break;
    }
}

static void record_result(struct retrying *r, const struct local_message_row *row, const char *result,
                          const char *detail)
{
    struct strbuf *line = &r->line;
    bool there = row->topic.ptr != NULL;

    record_open(line, NULL, '{');
    record_text(line, "result", result);
    if (row->id)
        record_number(line, "id", row->id);
    else
        record_null(line, "id");
    record_slice(line, "key", row->key);
    record_slice(line, "topic", row->topic);
    record_text(line, "was", there ? local_message_state_name(row->state) : NULL);
    record_text(line, "detail", detail[0] ? detail : NULL);
    record_close(line, '}');
    record_print(line);
}

static void report(void *arg, const struct local_message_row *row, enum local_message_retry result)
{
    struct retrying *r = arg;
    enum tint tint;
    const char *name = result_of(r, result, &tint);
    char detail[256];

    if (result == LOCAL_MESSAGE_RETRY_DONE)
        r->done++;
    else
        r->refused++;
    explain(row, result, detail, sizeof detail);
    if (r->ctl->json) {
        record_result(r, row, name, detail);
        return;
    }
    if (row->id)
        table_number(&r->table, row->id);
    else
        table_text(&r->table, "-", TINT_DIM);
    table_text(&r->table, name, tint);
    table_slice(&r->table, row->topic.ptr ? row->topic : slice_of("-"), TINT_NONE);
    table_slice(&r->table, row->key.ptr ? row->key : slice_of("-"), TINT_NONE);
    table_text(&r->table, detail, TINT_NONE);
}

/* ---- choose ---- */

static void pick_row(void *arg, const struct local_message_row *row)
{
    struct retrying *r = arg;

    outbox_picks_add(&r->picks, row->id, row->state);
}

static void pick_found(void *arg, const struct local_message_ref *name, const struct local_message_row *row)
{
    (void)name;
    pick_row(arg, row);
}

static void report_missing(void *arg, const struct local_message_ref *name)
{
    struct local_message_row row = {.id = name->id, .key = name->key};

    report(arg, &row, LOCAL_MESSAGE_RETRY_GONE);
}

static bool pick_quarantined(struct retrying *r, struct error *err)
{
    struct local_message_filter filter = {.by_state = true, .state = LOCAL_MESSAGE_STATE_QUARANTINED};
    struct local_message_walk walk = {.filter = &filter};

    filter.topic = outbox_text(&r->ctl->values[CTL_OPTION_outbox_retry_topic]);
    while (!walk.end) {
        if (!local_message_page(r->db, &walk, LOCAL_MESSAGE_BATCH_MAX, pick_row, r, err))
            return false;
    }
    return true;
}

static void warn_of_sent(const struct retrying *r)
{
    size_t sent = 0;

    for (size_t i = 0; i < r->picks.count; i++)
        sent += r->picks.list[i].state == LOCAL_MESSAGE_STATE_SENT;
    if (sent && r->how.sent)
        print_warning("%zu of these were sent before: every receiver must recognise a message that it has had", sent);
}

/* ---- do ---- */

static bool retry_picks(struct retrying *r, struct error *err)
{
    for (size_t i = 0; i < r->picks.count; i += LOCAL_MESSAGE_BATCH_MAX) {
        size_t left = r->picks.count - i, count = left < LOCAL_MESSAGE_BATCH_MAX ? left : LOCAL_MESSAGE_BATCH_MAX;

        if (!local_message_retry(r->db, r->picks.list + i, count, r->how, report, r, err)) {
            ctl_advise(r->ctl, "run the same command again: it goes on where it stopped");
            return false;
        }
        table_flush(r->ctl, &r->table);
    }
    return true;
}

static bool retry(struct retrying *r, const struct outbox_names *names, struct error *err)
{
    bool ok = r->ctl->values[CTL_OPTION_outbox_retry_all_quarantined].set
                  ? pick_quarantined(r, err)
                  : outbox_find(r->db, names, pick_found, report_missing, r, err);

    if (!ok)
        return false;
    outbox_picks_sort(&r->picks);
    warn_of_sent(r);
    return retry_picks(r, err);
}

static void conclude(struct retrying *r)
{
    size_t all = r->done + r->refused;

    if (all == 0)
        print_note(r->ctl, "there is no message to retry");
    else if (r->how.dry_run)
        print_note(r->ctl, "%zu of %zu would be sent; nothing was changed", r->done, all);
    else
        print_note(r->ctl, "%zu of %zu are due now, for the relay of a running orderd to send", r->done, all);
    if (r->refused)
        r->ctl->code = EXIT_PARTIAL;
}

static bool usage(struct ctl *ctl, struct error *err)
{
    bool all = ctl->values[CTL_OPTION_outbox_retry_all_quarantined].set;

    if (all && ctl->operand_count)
        return ctl_misuse(ctl, err, "name messages or give --all-quarantined, not both");
    if (!all && ctl->operand_count == 0)
        return ctl_misuse(ctl, err, "KEY|ID or --all-quarantined is missing");
    if (!all && ctl->values[CTL_OPTION_outbox_retry_topic].set)
        return ctl_misuse(ctl, err, "--topic goes with --all-quarantined only");
    if (all && ctl->values[CTL_OPTION_outbox_retry_sent].set)
        return ctl_misuse(ctl, err, "--sent is for messages that are named, not for --all-quarantined");
    return true;
}

bool ctl_outbox_retry(struct ctl *ctl, struct error *err)
{
    static const char *const heads[] = {"-ID", "RESULT", "TOPIC", "KEY", "DETAIL"};
    struct retrying r = {.ctl = ctl,
                         .how = {.dry_run = ctl->values[CTL_OPTION_outbox_retry_dry_run].set,
                                 .sent = ctl->values[CTL_OPTION_outbox_retry_sent].set}};
    struct outbox_names names;
    bool ok;

    if (!usage(ctl, err))
        return false;
    table_begin(&r.table, heads, sizeof heads / sizeof *heads);
    ok = outbox_names_read(ctl, &names, err) && (r.db = ctl_open_schema(ctl, err)) && retry(&r, &names, err);
    table_end(ctl, &r.table);
    if (ok)
        conclude(&r);
    db_close(&r.db);
    outbox_names_free(&names);
    outbox_picks_free(&r.picks);
    strbuf_release(&r.line);
    return ok;
}
