#include "orderd/check.h"

#include <stdio.h>
#include <string.h>

void check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "<0>orderd: internal check failed: %s (%s:%d); please report this\n", what, file, line);
    abort();
}

void *check_malloc(size_t size)
{
    void *p = malloc(size ? size : 1);

    CHECK(p != NULL);
    return p;
}

void *check_calloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);

    CHECK(p != NULL);
    return p;
}

void *check_realloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);

    CHECK(p != NULL);
    return p;
}

char *check_strdup(const char *text)
{
    char *p = strdup(text);

    CHECK(p != NULL);
    return p;
}
