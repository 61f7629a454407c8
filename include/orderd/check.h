/* Our own invariants. A failed check is a bug of ours: it prints where and aborts, in release builds too, since a
 * process in an unknown state must not touch money; the supervisor restarts it and the durable state decides. */
#ifndef ORDERD_CHECK_H
#define ORDERD_CHECK_H

#include <stdlib.h>

__attribute__((noreturn, cold)) void check_failed(const char *file, int line, const char *what);

#define CHECK(cond)                                                                                                    \
    do {                                                                                                               \
        if (__builtin_expect(!(cond), 0))                                                                              \
            check_failed(__FILE__, __LINE__, #cond);                                                                   \
    } while (0)

/* For calls that answer 0 or an error number and cannot fail unless we misuse them (pthread). */
#define CHECK_ZERO(call)                                                                                               \
    do {                                                                                                               \
        if (__builtin_expect((call) != 0, 0))                                                                          \
            check_failed(__FILE__, __LINE__, #call);                                                                   \
    } while (0)

/* Memory that cannot be had ends the process (check_failed): no caller can go on without it. */
void *check_malloc(size_t size);
void *check_calloc(size_t count, size_t size);
void *check_realloc(void *old, size_t size);
char *check_strdup(const char *text);

#endif
