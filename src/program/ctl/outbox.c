#include "outbox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/units.h"
#include "record.h"

enum tint outbox_tint(enum local_message_state state)
{
    static const enum tint tints[LOCAL_MESSAGE_STATE_COUNT] = {
        [LOCAL_MESSAGE_STATE_PENDING] = TINT_CHANGED,
        [LOCAL_MESSAGE_STATE_SENT] = TINT_GOOD,
        [LOCAL_MESSAGE_STATE_QUARANTINED] = TINT_BAD,
    };

    return tints[state];
}

int64_t outbox_until(const struct local_message_row *row, int64_t moment)
{
    return moment - row->now;
}

void outbox_record(struct strbuf *line, const struct local_message_row *row)
{
    record_number(line, "id", row->id);
    record_slice(line, "key", row->key);
    record_slice(line, "topic", row->topic);
    record_text(line, "state", local_message_state_name(row->state));
    record_number(line, "attempts", row->attempts);
    record_time(line, "due_at", row->due_at);
    if (row->state == LOCAL_MESSAGE_STATE_PENDING)
        record_number(line, "due_in_ms", outbox_until(row, row->due_at));
    else
        record_null(line, "due_in_ms");
    record_time(line, "created_at", row->created_at);
    record_number(line, "age_ms", -outbox_until(row, row->created_at));
    record_time(line, "sent_at", row->sent_at);
    record_bool(line, "leased", row->leased);
    record_slice(line, "lease_owner", row->lease_owner);
    record_time(line, "lease_until", row->lease_until);
    record_slice(line, "last_error", row->last_error);
    record_number(line, "payload_bytes", row->payload_bytes);
}

int64_t outbox_instant(const struct ctl_value *value, int64_t now)
{
    if (!value->set)
        return 0;
    return value->relative ? now - value->number : value->number;
}

struct slice outbox_text(const struct ctl_value *value)
{
    return slice_of(value->set ? value->text : NULL);
}

/* ---- names ---- */

static void add_name(struct outbox_names *names, const char *text, size_t len)
{
    struct local_message_ref ref = {0};

    if (strlen(text) != len || !units_parse_i64(text, 1, INT64_MAX, &ref.id))
        ref.key = (struct slice){memcpy(check_malloc(len + 1), text, len + 1), len};
    if (names->count == names->room) {
        names->room = names->room ? names->room * 2 : 64;
        names->list = check_realloc(names->list, names->room * sizeof *names->list);
    }
    names->list[names->count++] = ref;
}

static bool read_lines(const struct ctl *ctl, struct outbox_names *names, struct error *err)
{
    char *line = NULL;
    size_t room = 0, len;
    ssize_t n;

    if (isatty(STDIN_FILENO))
        print_note(ctl, "reading keys and ids from the terminal, one a line; ^D ends them");
    errno = 0;
    while ((n = getline(&line, &room, stdin)) >= 0) {
        len = (size_t)n;
        while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
            line[--len] = '\0';
        if (len > 0)
            add_name(names, line, len);
    }
    free(line);
    return !ferror(stdin) || error_set(err, ERROR_IO, "cannot read standard input: %s", strerror(errno));
}

bool outbox_names_read(const struct ctl *ctl, struct outbox_names *out, struct error *err)
{
    bool ok = true;

    *out = (struct outbox_names){0};
    for (size_t i = 0; i < ctl->operand_count && ok; i++) {
        if (strcmp(ctl->operands[i], "-") == 0)
            ok = read_lines(ctl, out, err);
        else
            add_name(out, ctl->operands[i], strlen(ctl->operands[i]));
    }
    return ok;
}

void outbox_names_free(struct outbox_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free((char *)(uintptr_t)names->list[i].key.ptr);
    free(names->list);
}

const char *outbox_name_text(char out[OUTBOX_NAME_TEXT], const struct local_message_ref *name)
{
    if (name->id > 0) {
        snprintf(out, OUTBOX_NAME_TEXT, "message %" PRId64, name->id);
        return out;
    }
    snprintf(out, OUTBOX_NAME_TEXT, "message \"%.*s\"",
             (int)(name->key.len < LOCAL_MESSAGE_KEY_MAX ? name->key.len : LOCAL_MESSAGE_KEY_MAX), name->key.ptr);
    for (char *c = out; *c; c++) { /* it goes to a terminal */
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            *c = '?';
    }
    return out;
}

/* ---- picks ---- */

void outbox_picks_add(struct outbox_picks *picks, int64_t id, enum local_message_state state)
{
    if (picks->count == picks->room) {
        picks->room = picks->room ? picks->room * 2 : 256;
        picks->list = check_realloc(picks->list, picks->room * sizeof *picks->list);
    }
    picks->list[picks->count++] = (struct local_message_pick){id, state};
}

static int by_id(const void *a, const void *b)
{
    const struct local_message_pick *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

void outbox_picks_sort(struct outbox_picks *picks)
{
    size_t kept = 0;

    if (picks->count == 0)
        return;
    qsort(picks->list, picks->count, sizeof *picks->list, by_id);
    for (size_t i = 1; i < picks->count; i++) {
        if (picks->list[i].id != picks->list[kept].id)
            picks->list[++kept] = picks->list[i];
    }
    picks->count = kept + 1;
}

void outbox_picks_free(struct outbox_picks *picks)
{
    free(picks->list);
}

struct finding {
    const struct local_message_ref *refs;
    bool seen[LOCAL_MESSAGE_FIND_MAX];
    outbox_found_fn on_found;
    void *arg;
};

static void found(void *arg, size_t index, const struct local_message_row *row)
{
    struct finding *f = arg;

    f->seen[index] = true;
    f->on_found(f->arg, &f->refs[index], row);
}

bool outbox_find(struct db *db, const struct outbox_names *names, outbox_found_fn on_found,
                 outbox_missing_fn on_missing, void *arg, struct error *err)
{
    for (size_t i = 0; i < names->count; i += LOCAL_MESSAGE_FIND_MAX) {
        size_t left = names->count - i, count = left < LOCAL_MESSAGE_FIND_MAX ? left : LOCAL_MESSAGE_FIND_MAX;
        struct finding f = {.refs = names->list + i, .on_found = on_found, .arg = arg};

        if (!local_message_find(db, f.refs, count, found, &f, err))
            return false;
        for (size_t k = 0; k < count; k++) {
            if (!f.seen[k])
                on_missing(arg, &f.refs[k]);
        }
    }
    return true;
}
