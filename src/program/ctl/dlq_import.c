/* orderctl dlq import: line by line, each letter in a transaction of its own. What a line says is foreign. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dlq.h"
#include "orderd/check.h"
#include "orderd/order.h"
#include "payload.h"
#include "record.h"

#define TEXT_MAX 255 /* message id, content type and queue, as AMQP has them */

struct importing {
    struct ctl *ctl;
    struct db *db;
    FILE *in;
    char who[CTL_WHO_MAX], note[300];
    int64_t line, added, known, wrong;
    bool dry_run;
};

/* One line as a letter; its texts point into the others. */
struct reading {
    json_t *root;
    struct dead_letter_row row;
    struct strbuf message_id, content_type, body, new_body;
    struct slice new_body_bytes, new_body_by; /* ptr NULL: none */
    char *headers;
    struct dead_letter_action *history; /* as long as the member */
    size_t history_count;
    const char *wrong; /* NULL, or the member that is missing or not as it should be */
};

static const json_t *member(struct reading *r, const char *name, bool good)
{
    const json_t *value = json_object_get(r->root, name);

    if (!r->wrong && (!value || !good))
        r->wrong = name;
    return value;
}

static struct slice text(struct reading *r, const char *name, size_t max)
{
    const json_t *value = json_object_get(r->root, name);
    size_t len = json_string_length(value);

    member(r, name, json_is_string(value) && len <= max);
    return (struct slice){json_string_value(value), len};
}

static int64_t number(struct reading *r, const char *name, int64_t least)
{
    const json_t *value = json_object_get(r->root, name);

    member(r, name, json_is_integer(value) && json_integer_value(value) >= least);
    return json_integer_value(value);
}

/* The member, or the one of its name with _base64. */
static struct slice bytes(struct reading *r, const char *name, const char *name_base64, size_t max, struct strbuf *out)
{
    const json_t *plain = json_object_get(r->root, name), *base64 = json_object_get(r->root, name_base64);
    struct slice encoded = {json_string_value(base64), json_string_length(base64)};

    if (json_is_string(plain) && !base64)
        strbuf_add(out, json_string_value(plain), json_string_length(plain));
    else if (plain || !json_is_string(base64) || !payload_take_base64(out, encoded))
        r->wrong = r->wrong ? r->wrong : name;
    if (!r->wrong && out->len > max)
        r->wrong = name;
    return (struct slice){out->data ? out->data : "", out->len};
}

static void read_order(struct reading *r)
{
    const json_t *order = json_object_get(r->root, "order_no"), *activity = json_object_get(r->root, "activity");

    if (!json_is_null(order)) {
        r->row.order_no = text(r, "order_no", ORDER_NO_MAX);
        if (!r->wrong)
            member(r, "order_no", order_no_valid(r->row.order_no));
    }
    member(r, "order_no", true);
    if (!json_is_null(activity))
        r->row.activity_id = number(r, "activity", 1);
    member(r, "activity", true);
}

static bool read_instant(struct slice at, int64_t *out)
{
    struct activity_when when = {0};

    if (!at.ptr || strlen(at.ptr) != at.len || !ctl_parse_when(at.ptr, &when) || when.relative)
        return false;
    *out = when.ms;
    return true;
}

static void read_death(struct reading *r)
{
    struct slice at = text(r, "died_at", 40);
    const json_t *told = json_object_get(r->root, "death_told");

    if (!r->wrong)
        member(r, "died_at", read_instant(at, &r->row.died_at));
    member(r, "death_told", json_is_boolean(told));
    r->row.death_told = json_is_true(told);
}

static void read_headers(struct reading *r)
{
    const json_t *headers = json_object_get(r->root, "headers");
    bool good = json_is_object(headers);
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)headers, name, value)
    {
        good = good && (json_is_string(value) || json_is_integer(value));
    }
    member(r, "headers", good);
    r->headers = good ? json_dumps(headers, JSON_COMPACT) : NULL;
    r->row.headers = slice_of(r->headers);
}

static bool lower_word(struct slice word)
{
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] != '_' && (word.ptr[i] < 'a' || word.ptr[i] > 'z'))
            return false;
    }
    return word.len > 0;
}

static struct slice text_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return (struct slice){json_string_value(value), json_string_length(value)};
}

/* A column counts characters, of at most four bytes; the database refuses what is longer. */
static bool read_action(const json_t *line, struct dead_letter_action *out)
{
    out->action = text_of(line, "action");
    out->who = text_of(line, "who");
    out->note = text_of(line, "note");
    return out->action.ptr && out->action.len <= 32 && lower_word(out->action) && out->who.ptr &&
           out->who.len <= 4 * DEAD_LETTER_WHO_MAX && out->note.ptr && out->note.len <= 4 * DEAD_LETTER_NOTE_MAX &&
           read_instant(text_of(line, "done_at"), &out->done_at);
}

/* A file that was written before letters took their history along has none. */
static void read_history(struct reading *r)
{
    const json_t *list = json_object_get(r->root, "history");
    size_t count = json_array_size(list);

    if (!list)
        return;
    member(r, "history", json_is_array(list));
    r->history = check_calloc(count + 1, sizeof *r->history);
    while (r->history_count < count && !r->wrong) {
        member(r, "history", read_action(json_array_get(list, r->history_count), &r->history[r->history_count]));
        r->history_count++;
    }
}

static void read_new_body(struct reading *r)
{
    if (!json_object_get(r->root, "new_body") && !json_object_get(r->root, "new_body_base64"))
        return;
    r->new_body_bytes = bytes(r, "new_body", "new_body_base64", SIZE_MAX, &r->new_body);
    r->new_body_by = text(r, "new_body_by", 4 * DEAD_LETTER_WHO_MAX);
}

static void read_letter(struct reading *r)
{
    struct slice state = text(r, "state", TEXT_MAX);

    member(r, "v", json_integer_value(json_object_get(r->root, "v")) == 1);
    if (!r->wrong)
        member(r, "state", dead_letter_state_of_name(state, &r->row.state));
    r->row.reason = text(r, "reason", 40);
    if (!r->wrong)
        member(r, "reason", lower_word(r->row.reason));
    r->row.detail = text(r, "detail", 4 * 400);
    r->row.queue = text(r, "queue", TEXT_MAX * 3); /* bytes that were no text are three each */
    r->row.attempts = number(r, "attempts", 0);
    r->row.times = number(r, "deaths", 1);
    read_order(r);
    read_death(r);
    read_headers(r);
    read_history(r);
    r->row.message_id = bytes(r, "message_id", "message_id_base64", TEXT_MAX, &r->message_id);
    r->row.content_type = bytes(r, "content_type", "content_type_base64", TEXT_MAX, &r->content_type);
    r->row.body = bytes(r, "body", "body_base64", SIZE_MAX, &r->body);
    read_new_body(r);
}

static void end_reading(struct reading *r)
{
    json_decref(r->root);
    free(r->headers);
    free(r->history);
    strbuf_release(&r->message_id);
    strbuf_release(&r->content_type);
    strbuf_release(&r->body);
    strbuf_release(&r->new_body);
}

/* ---- work ---- */

static void add_wrong(struct importing *m, const char *why, const char *what)
{
    m->wrong++;
    print_warning("line %" PRId64 " is no letter: %s%s", m->line, why, what);
}

/* What the database refuses for the letter's own sake is the line's fault. */
static bool add_letter(struct importing *m, const struct reading *r, struct error *err)
{
    struct dead_letter_origin origin = {.history = r->history,
                                        .history_count = r->history_count,
                                        .who = m->who,
                                        .new_body = r->new_body_bytes,
                                        .new_body_by = r->new_body_by};
    char note[400];
    bool added;

    snprintf(note, sizeof note, "%s%s", m->note, r->history_count ? "; the lines before this one are from there" : "");
    origin.note = slice_of(note);
    if (!dead_letter_store_add(m->db, &r->row, &origin, m->dry_run, &added, err)) {
        if (!db_usable(m->db) || error_class_of(err) != ERROR_CLASS_PERMANENT)
            return false;
        add_wrong(m, "", err->text);
        error_clear(err);
        return true;
    }
    m->added += added;
    m->known += !added;
    return true;
}

static bool take_line(struct importing *m, struct slice line, struct error *err)
{
    json_error_t where;
    struct reading r = {.root = json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, &where)};
    bool ok = true;

    if (!json_is_object(r.root)) {
        add_wrong(m, "it is not one JSON object", "");
    } else {
        read_letter(&r);
        if (r.wrong)
            add_wrong(m, "its member is missing or wrong: ", r.wrong);
        else
            ok = add_letter(m, &r, err);
    }
    end_reading(&r);
    return ok;
}

static bool take_all(struct importing *m, struct error *err)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    bool ok = true;

    errno = 0;
    while (ok && (n = getline(&line, &room, m->in)) >= 0) {
        m->line++;
        if (n > 0 && line[n - 1] == '\n')
            n--;
        if (n > 0)
            ok = take_line(m, (struct slice){line, (size_t)n}, err);
        print_progress(m->ctl, "%" PRId64 " lines", m->line);
        errno = 0;
    }
    free(line);
    print_progress_end();
    return ok && (!ferror(m->in) || error_set(err, ERROR_IO, "cannot read it: %s", strerror(errno)));
}

static void conclude(const struct importing *m)
{
    struct strbuf line = STRBUF_INIT;

    if (m->ctl->json) {
        record_open(&line, NULL, '{');
        record_number(&line, "added", m->added);
        record_number(&line, "known", m->known);
        record_number(&line, "wrong", m->wrong);
        record_bool(&line, "dry_run", m->dry_run);
        record_close(&line, '}');
        record_print(&line);
        strbuf_release(&line);
    } else {
        printf("%" PRId64 " %s, %" PRId64 " known, %" PRId64 " wrong\n", m->added,
               m->dry_run ? "would be added" : "added", m->known, m->wrong);
    }
    if (m->dry_run)
        print_note(m->ctl, "nothing was changed");
    if (m->wrong)
        m->ctl->code = EXIT_PARTIAL;
}

static bool open_file(struct importing *m, struct error *err)
{
    const char *name = m->ctl->operands[0];
    bool standard = strcmp(name, "-") == 0;

    snprintf(m->note, sizeof m->note, "from %.250s", standard ? "standard input" : name);
    m->in = standard ? stdin : fopen(name, "r");
    return m->in || error_set(err, ERROR_IO, "cannot read %.200s: %s", name, strerror(errno));
}

bool ctl_dlq_import(struct ctl *ctl, struct error *err)
{
    struct importing m = {.ctl = ctl, .dry_run = ctl->values[CTL_OPTION_dlq_import_dry_run].set};
    bool ok;

    ctl_who(m.who);
    ok = open_file(&m, err) && (m.db = ctl_open_schema(ctl, err)) && take_all(&m, err);
    if (ok)
        conclude(&m);
    else if (m.added)
        ctl_advise(ctl, "%" PRId64 " were added before that; run the same command again for the rest", m.added);
    if (m.in && m.in != stdin)
        fclose(m.in);
    db_close(&m.db);
    return ok;
}
