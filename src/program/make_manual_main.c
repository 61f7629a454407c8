/* make_manual IN OUT [PROGRAM]: used by the build only. Copies IN to OUT, with each @PROGRAM@ replaced by PROGRAM, and
 * then each line @name@ by the part of that name (see orderd/manual.h). */
#include <stdio.h>
#include <string.h>

#include "orderd/exitcode.h"
#include "orderd/manual.h"

#define LINE_MAX_ 4096

/* "@name@\n" becomes "name". */
static bool names_part(char *line)
{
    size_t len = strcspn(line, "\n");

    if (len < 3 || line[0] != '@' || line[len - 1] != '@')
        return false;
    line[len - 1] = '\0';
    memmove(line, line + 1, len - 1);
    return true;
}

static void name_program(char line[LINE_MAX_], const char *program)
{
    static const char mark[] = "@PROGRAM@";
    char rest[LINE_MAX_], *at;

    while (program && (at = strstr(line, mark))) {
        snprintf(rest, sizeof rest, "%s", at + strlen(mark));
        snprintf(at, LINE_MAX_ - (size_t)(at - line), "%s%s", program, rest);
    }
}

static enum exitcode expand(FILE *in, const char *program, struct strbuf *out)
{
    char line[LINE_MAX_];

    while (fgets(line, sizeof line, in)) {
        name_program(line, program);
        if (!names_part(line)) {
            strbuf_add_str(out, line);
        } else if (!manual_part(line, out)) {
            fprintf(stderr, "make_manual: there is no part \"%s\"\n", line);
            return EXIT_BAD_DATA;
        }
    }
    return ferror(in) ? EXIT_IO : EXIT_OK;
}

static enum exitcode store(const char *path, const struct strbuf *text)
{
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(text->data, 1, text->len, f) == text->len;

    return f && fclose(f) == 0 && ok ? EXIT_OK : EXIT_IO;
}

int main(int argc, char **argv)
{
    FILE *in = argc == 3 || argc == 4 ? fopen(argv[1], "r") : NULL;
    struct strbuf out = STRBUF_INIT;
    enum exitcode code;

    if (!in) {
        fprintf(stderr, "Usage: make_manual IN OUT [PROGRAM], of which IN must be there\n");
        return EXIT_USAGE;
    }
    code = expand(in, argv[3], &out);
    fclose(in);
    if (code == EXIT_OK)
        code = store(argv[2], &out);
    strbuf_release(&out);
    return (int)code;
}
