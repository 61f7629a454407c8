#include "testing_exec.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

static bool same_name(const char *variable, const char *change)
{
    size_t len = strcspn(change, "=");

    return strncmp(variable, change, len) == 0 && variable[len] == '=';
}

static bool is_changed(const char *variable, const char *const *changes)
{
    for (; *changes; changes++) {
        if (same_name(variable, *changes))
            return true;
    }
    return false;
}

void testing_exec_prepare(struct testing_exec *e, const char *program, const char *const *changes)
{
    size_t count = 0;

    snprintf(e->path, sizeof e->path, "%s/src/%s", testing_env("ORDERD_BUILD"), program);
    for (char **variable = environ; *variable; variable++) {
        if (is_changed(*variable, changes))
            continue;
        ck_assert_uint_lt(count, TESTING_EXEC_VARIABLES);
        e->env[count++] = *variable;
    }
    for (; *changes; changes++) {
        if (!strchr(*changes, '='))
            continue;
        ck_assert_uint_lt(count, TESTING_EXEC_VARIABLES);
        e->env[count++] = (char *)(uintptr_t)*changes;
    }
    e->env[count] = NULL;
}
