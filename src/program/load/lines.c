#include "lines.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "orderd/strbuf.h"
#include "report.h"

/* Behind the last line end. */
static long end_of_lines(FILE *file)
{
    long end;

    if (fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0)
        return -1;
    for (; end > 0; end--) {
        if (fseek(file, end - 1, SEEK_SET) != 0)
            return -1;
        if (fgetc(file) == '\n')
            break;
    }
    return end;
}

FILE *lines_open(const char *path, const char *head, struct error *err)
{
    FILE *file = fopen(path, "ae+");
    long end = file ? end_of_lines(file) : -1;

    if (!file || end < 0 || ftruncate(fileno(file), end) != 0 || (end == 0 && fputs(head, file) < 0) ||
        fflush(file) != 0) {
        error_set(err, ERROR_IO, "cannot write %s: %s", path, strerror(errno));
        if (file)
            fclose(file);
        return NULL;
    }
    return file;
}

void lines_pass(struct lines_passed *passed, int64_t activity)
{
    if (passed->other == 0)
        passed->other = activity;
    if (passed->other == activity)
        passed->of_other++;
    else
        passed->of_more++;
}

bool lines_cut_head(const char *line, unsigned number, const char *head)
{
    return number > 1 || strncmp(line, head, strlen(line)) == 0;
}

static void add_count(struct strbuf *out, const char *before, size_t count)
{
    strbuf_add_str(out, before);
    report_number(out, (double)count, 0);
}

bool lines_explain_none(const struct lines_passed *passed, const struct load_files *files, int64_t activity,
                        const char *what, struct error *err)
{
    const char *one = files->count == 1 ? files->names[0] : NULL;
    struct strbuf other = STRBUF_INIT;

    if (passed->complete > 0 && passed->other == 0)
        return true;
    if (passed->other > 0) {
        add_count(&other, one ? " (it has " : " (they have ", passed->of_other);
        strbuf_addf(&other, " of %" PRId64, passed->other);
        if (passed->of_more > 0)
            add_count(&other, " and, of others, ", passed->of_more);
        strbuf_add_str(&other, ")");
    } else {
        strbuf_add_str(&other, one ? ": it is empty" : ": they are empty");
    }
    error_set(err, ERROR_INPUT_INVALID, "%.160s %s no %s of activity %" PRId64 "%s", one ? one : "these files",
              one ? "has" : "have", what, activity, other.data);
    strbuf_release(&other);
    return false;
}
