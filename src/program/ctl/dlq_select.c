/* Which letters a command of `orderctl dlq` is about: the same words for all of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dlq.h"
#include "orderd/activity_store.h"
#include "orderd/check.h"
#include "orderd/order.h"
#include "orderd/reason.h"
#include "outbox.h"

#define PAGE 1000

/* ---- the command line ---- */

/* CTL_OPTION_COUNT where this command has none of this spelling. */
static size_t find(const struct ctl *ctl, const char *spelling)
{
    size_t i = 0;

    while (i < CTL_OPTION_COUNT &&
           (ctl_options[i].command != ctl->id || strcmp(ctl_options[i].spelling, spelling) != 0))
        i++;
    return i;
}

static bool has(const struct ctl *ctl, const char *spelling)
{
    return find(ctl, spelling) < CTL_OPTION_COUNT;
}

/* Its value, NULL where it was not given. */
static const struct ctl_value *given(const struct ctl *ctl, const char *spelling)
{
    size_t i = find(ctl, spelling);

    return i < CTL_OPTION_COUNT && ctl->values[i].set ? &ctl->values[i] : NULL;
}

static struct slice text_of(const struct ctl *ctl, const char *spelling)
{
    const struct ctl_value *value = given(ctl, spelling);

    return slice_of(value ? value->text : NULL);
}

/* A typing mistake would find nothing, which looks like good news. */
static bool usage(struct ctl *ctl, const struct dead_letter_filter *f, struct error *err)
{
    if (f->reason.ptr && strcmp(f->reason.ptr, DEAD_LETTER_REASON_UNKNOWN) != 0 && !reason_of_name(f->reason.ptr))
        return ctl_misuse(ctl, err, "there is no reason \"%.60s\"; `orderctl dlq stats` shows those that occur",
                          f->reason.ptr);
    if (f->order_no.ptr && !order_no_valid(f->order_no))
        return ctl_misuse(ctl, err, "\"%.60s\" is no order number (1 to 28 of [0-9A-Za-z_], with an optional -r<n>)",
                          f->order_no.ptr);
    return true;
}

static void read_filter(const struct ctl *ctl, struct dlq_selection *out)
{
    const struct ctl_value *state = given(ctl, "state"), *activity = given(ctl, "activity");
    struct dead_letter_filter *f = &out->filter;

    f->by_state = state && dead_letter_state_of_name(slice_of(state->text), &f->state);
    f->reason = text_of(ctl, "reason");
    f->queue = text_of(ctl, "queue");
    f->order_no = text_of(ctl, "order");
    f->message_id = text_of(ctl, "message-id");
    f->activity_id = activity ? activity->number : 0;
    out->filtered = state || activity || f->reason.ptr || f->queue.ptr || f->order_no.ptr || f->message_id.ptr ||
                    given(ctl, "since") || given(ctl, "until");
}

bool dlq_select(struct ctl *ctl, bool needed, struct dlq_selection *out, struct error *err)
{
    *out = (struct dlq_selection){.named = ctl->operand_count > 0, .all = given(ctl, "all") != NULL};
    read_filter(ctl, out);
    if (out->named + out->filtered + out->all > 1)
        return ctl_misuse(ctl, err,
                          out->all ? "--all is every letter: give it alone, or name letters, or choose them by options"
                                   : "name letters or choose them by options, not both");
    if (needed && !out->named && !out->filtered && !out->all)
        return ctl_misuse(ctl, err, "LETTER is missing, or an option that chooses letters, or --all");
    return usage(ctl, &out->filter, err) && dlq_ids_read(ctl, &out->ids, err);
}

bool dlq_is_span(struct ctl *ctl, int64_t since, int64_t until, struct error *err)
{
    return since < until || ctl_misuse(ctl, err, "--until is not after --since, so nothing lies between them");
}

bool dlq_select_times(struct ctl *ctl, struct db *db, struct dlq_selection *s, struct error *err)
{
    const struct ctl_value *since = given(ctl, "since"), *until = given(ctl, "until");
    int64_t now;

    if (!since && !until)
        return true;
    if (!activity_store_now(db, &now, err))
        return false;
    s->filter.since = since ? outbox_instant(since, now) : 0;
    s->filter.until = until ? outbox_instant(until, now) : 0;
    return !since || !until || dlq_is_span(ctl, s->filter.since, s->filter.until, err);
}

void dlq_select_free(struct dlq_selection *s)
{
    dlq_ids_free(&s->ids);
}

/* ---- the letters ---- */

static void add_id(void *arg, int64_t id)
{
    struct dlq_ids *ids = arg;

    if (ids->count == ids->room) {
        ids->room = ids->room ? ids->room * 2 : PAGE;
        ids->list = check_realloc(ids->list, ids->room * sizeof *ids->list);
    }
    ids->list[ids->count++] = id;
}

bool dlq_walk_next(struct db *db, struct dlq_walk *w, struct error *err)
{
    bool ok = true;

    if (w->of->named) {
        w->ids = w->of->ids.list + w->at;
        w->count = w->of->ids.count - w->at < PAGE ? w->of->ids.count - w->at : PAGE;
        w->at += w->count;
        w->end = w->at == w->of->ids.count;
    } else {
        w->page.count = 0;
        ok = dead_letter_store_ids(db, &w->of->filter, &w->after, PAGE, add_id, &w->page, &w->end, err);
        w->ids = w->page.list;
        w->count = w->page.count;
    }
    return ok;
}

void dlq_walk_end(struct dlq_walk *w)
{
    dlq_ids_free(&w->page);
}

bool dlq_select_now(struct ctl *ctl, struct db *db, struct dlq_selection *s, struct error *err)
{
    int64_t after = 0;
    bool end = s->named;

    if (!dlq_select_times(ctl, db, s, err))
        return false;
    while (!end) {
        if (!dead_letter_store_ids(db, &s->filter, &after, PAGE, add_id, &s->ids, &end, err))
            return false;
        print_progress(ctl, "%zu letters found", s->ids.count);
    }
    print_progress_end();
    return true;
}

/* ---- to change them ---- */

bool dlq_select_to_change(struct ctl *ctl, enum dead_letter_state from, struct dlq_selection *out, struct error *err)
{
    if (!dlq_select(ctl, true, out, err))
        return false;
    if (!out->filter.by_state) {
        out->filter.by_state = !out->named;
        out->filter.state = from;
    }
    if (!out->named && has(ctl, "dry-run") && !given(ctl, "dry-run") && !given(ctl, "confirm"))
        return ctl_misuse(ctl, err,
                          "letters that are not named take --confirm with the number of them, which --dry-run shows");
    return true;
}

/* Page by page: a statement that names all of them might be more than the server takes. */
static bool count_in(struct db *db, const struct dlq_selection *s, enum dead_letter_state from, int64_t *out,
                     struct error *err)
{
    struct dead_letter_filter f = {.by_state = true, .state = from};
    int64_t page;

    *out = 0;
    for (size_t at = 0; at < s->ids.count; at += f.id_count) {
        f.ids = s->ids.list + at;
        f.id_count = s->ids.count - at < PAGE ? s->ids.count - at : PAGE;
        if (!dead_letter_store_size(db, &f, &page, err))
            return false;
        *out += page;
    }
    return true;
}

bool dlq_select_confirmed(struct ctl *ctl, struct db *db, enum dead_letter_state from, const struct dlq_selection *s,
                          struct error *err)
{
    const struct ctl_value *confirm = given(ctl, "confirm");
    int64_t number;

    if (!confirm)
        return true;
    if (!count_in(db, s, from, &number, err))
        return false;
    if (number == confirm->number)
        return true;
    ctl_advise(ctl, "nothing was changed; look again with --dry-run");
    return error_set(err, ERROR_REFUSED, "%" PRId64 " letters would change, not the %" PRId64 " of --confirm", number,
                     confirm->number);
}
