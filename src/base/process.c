#include "orderd/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "orderd/check.h"

/* Field 22 of proc(5)'s stat. The second one, the name in parentheses, may hold anything. */
bool process_started(pid_t pid, int64_t *ticks)
{
    char path[40], line[1024];
    const char *rest;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    line[fread(line, 1, sizeof line - 1, f)] = '\0';
    fclose(f);
    rest = strrchr(line, ')');
    return rest &&
           sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNd64,
                  ticks) == 1;
}

void process_no_core(void)
{
    CHECK_ZERO(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}));
}
