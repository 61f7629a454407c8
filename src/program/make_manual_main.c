/* make_manual IN OUT: used by the build only. Copies IN to OUT, with each line @name@ replaced by the part of that name
 * (see orderd/manual.h). */
#include <stdio.h>
#include <string.h>

#include "orderd/exitcode.h"
#include "orderd/manual.h"

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

static enum exitcode expand(FILE *in, struct strbuf *out)
{
    char line[4096];

    while (fgets(line, sizeof line, in)) {
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
    FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL;
    struct strbuf out = STRBUF_INIT;
    enum exitcode code;

    if (!in) {
        fprintf(stderr, "Usage: make_manual IN OUT, of which IN must be there\n");
        return EXIT_USAGE;
    }
    code = expand(in, &out);
    fclose(in);
    if (code == EXIT_OK)
        code = store(argv[2], &out);
    strbuf_release(&out);
    return (int)code;
}
