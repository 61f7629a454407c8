#include "lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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
