#include "dlq_edit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payload.h"

/* ---- a file ---- */

static bool take_all(int fd, const char *name, struct strbuf *out, struct error *err)
{
    char bytes[4096];
    ssize_t n;

    while ((n = read(fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0)
            strbuf_add(out, bytes, (size_t)n);
        if (out->len > DLQ_EDIT_MAX)
            return error_set(err, ERROR_INPUT_INVALID, "%.200s has more than %zu bytes, which no queue takes", name,
                             DLQ_EDIT_MAX);
    }
    return n == 0 || error_set(err, ERROR_IO, "cannot read %.200s: %s", name, strerror(errno));
}

/* Editors and shells put a newline there, and no message needs one. */
static void cut_newline(struct strbuf *text)
{
    while (text->len > 0 && (text->data[text->len - 1] == '\n' || text->data[text->len - 1] == '\r'))
        strbuf_cut(text, text->len - 1);
}

bool dlq_edit_read(const char *name, struct strbuf *out, struct error *err)
{
    bool standard = strcmp(name, "-") == 0, ok;
    int fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);

    strbuf_reset(out);
    if (fd < 0)
        return error_set(err, ERROR_IO, "cannot read %.200s: %s", name, strerror(errno));
    ok = take_all(fd, standard ? "standard input" : name, out, err);
    if (!standard)
        close(fd);
    if (ok)
        cut_newline(out);
    return ok;
}

/* ---- an editor ---- */

static bool write_all(int fd, struct slice bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);

        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            bytes = (struct slice){bytes.ptr + n, bytes.len - (size_t)n};
    }
    return true;
}

/* Readable to nobody else: a body has a buyer in it. */
static bool make_file(struct slice bytes, char path[DLQ_EDIT_PATH], struct error *err)
{
    const char *folder = getenv("TMPDIR");
    int fd, len = snprintf(path, DLQ_EDIT_PATH, "%s/orderctl.XXXXXX.json", folder && folder[0] ? folder : "/tmp");
    bool ok;

    if (len >= DLQ_EDIT_PATH)
        return error_set(err, ERROR_IO, "the name of TMPDIR is too long");
    fd = mkstemps(path, 5);
    if (fd < 0)
        return error_set(err, ERROR_IO, "cannot make %s: %s", path, strerror(errno));
    ok = write_all(fd, bytes);
    ok = close(fd) == 0 && ok;
    return ok || error_set(err, ERROR_IO, "cannot write %s: %s", path, strerror(errno));
}

/* Through the shell, since the variable may hold options too. */
static void become_editor(const char *editor, const char *path)
{
    struct strbuf command = STRBUF_INIT;

    strbuf_addf(&command, "%s \"$1\"", editor);
    execl("/bin/sh", "sh", "-c", command.data, "sh", path, (char *)NULL);
    _exit(127);
}

/* ^C in the editor is the editor's. */
static bool run_editor(const char *editor, const char *path, struct error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
    int status = 0;
    pid_t pid;

    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    pid = fork();
    if (pid == 0) {
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
        become_editor(editor, path);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    if (pid < 0)
        return error_set(err, ERROR_IO, "cannot start an editor: %s", strerror(errno));
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           error_set(err, ERROR_IO, "the editor \"%.100s\" failed; nothing was changed", editor);
}

static const char *editor_name(void)
{
    const char *visual = getenv("VISUAL"), *editor = getenv("EDITOR");

    return visual && visual[0] ? visual : editor && editor[0] ? editor : NULL;
}

bool dlq_edit_in_editor(struct ctl *ctl, struct slice bytes, char path[DLQ_EDIT_PATH], struct strbuf *out,
                        struct error *err)
{
    struct strbuf lines = STRBUF_INIT;
    const char *editor = editor_name();
    bool ok;

    path[0] = '\0';
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return ctl_misuse(ctl, err, "--editor needs a terminal; else give the new body by --edit FILE");
    if (!editor)
        return ctl_misuse(ctl, err, "neither VISUAL nor EDITOR names an editor; or give the new body by --edit FILE");
    if (payload_indent(bytes, &lines))
        bytes = (struct slice){lines.data, lines.len};
    ok = make_file(bytes, path, err) && run_editor(editor, path, err) && dlq_edit_read(path, out, err);
    strbuf_release(&lines);
    if (!ok && path[0]) {
        unlink(path);
        path[0] = '\0';
    }
    return ok;
}

/* ---- what it changes ---- */

/* The bytes as lines: JSON indented, anything else as it is. */
static void as_lines(struct slice bytes, struct strbuf *out)
{
    if (!payload_indent(bytes, out))
        strbuf_add_slice(out, bytes);
    cut_newline(out);
    if (out->len)
        strbuf_add_char(out, '\n');
}

static struct slice line_at(const struct strbuf *text, size_t at)
{
    const char *end = at < text->len ? memchr(text->data + at, '\n', text->len - at) : NULL;

    return end ? (struct slice){text->data + at, (size_t)(end + 1 - (text->data + at))} : (struct slice){NULL, 0};
}

/* Bytes of whole lines that both begin with. */
static size_t same_beginning(const struct strbuf *a, const struct strbuf *b)
{
    size_t at = 0;

    for (;;) {
        struct slice x = line_at(a, at), y = line_at(b, at);

        if (!x.ptr || !y.ptr || !slice_equal(x, y))
            return at;
        at += x.len;
    }
}

static size_t last_line(const struct strbuf *text, size_t end)
{
    size_t at = end - 1;

    while (at > 0 && text->data[at - 1] != '\n')
        at--;
    return at;
}

/* Bytes of whole lines that both end with, behind what both begin with. */
static size_t same_end(const struct strbuf *a, const struct strbuf *b, size_t begin)
{
    size_t ends = 0;

    while (a->len - ends > begin && b->len - ends > begin) {
        size_t x = last_line(a, a->len - ends), y = last_line(b, b->len - ends);
        struct slice one = {a->data + x, a->len - ends - x}, other = {b->data + y, b->len - ends - y};

        if (x < begin || y < begin || !slice_equal(one, other))
            break;
        ends += one.len;
    }
    return ends;
}

static void print_lines(const struct ctl *ctl, const struct strbuf *text, size_t from, size_t to, const char *sign,
                        enum tint tint)
{
    while (from < to) {
        struct slice line = line_at(text, from);

        fputs("  ", stdout);
        print_word(ctl, sign, 2, tint);
        print_escaped(line.ptr, line.len - 1, 0, ESCAPE_TEXT);
        from += line.len;
    }
}

void dlq_edit_show(const struct ctl *ctl, struct slice before, struct slice after)
{
    struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
    size_t begin, end;

    as_lines(before, &old);
    as_lines(after, &new);
    begin = same_beginning(&old, &new);
    end = same_end(&old, &new, begin);
    print_lines(ctl, &old, 0, begin, "", TINT_NONE);
    print_lines(ctl, &old, begin, old.len - end, "-", TINT_BAD);
    print_lines(ctl, &new, begin, new.len - end, "+", TINT_GOOD);
    print_lines(ctl, &old, old.len - end, old.len, "", TINT_NONE);
    strbuf_release(&old);
    strbuf_release(&new);
}
