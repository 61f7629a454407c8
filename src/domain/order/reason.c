#include "orderd/reason.h"

#include <string.h>

#include "orderd/check.h"

static const struct {
    const char *name, *sentence;
    enum reason_what what;
} reasons[] = {
    [REASON_NONE] = {"none", "", REASON_WHAT_NONE},
#define X(reason, name, what, sentence) [REASON_##reason] = {name, sentence, REASON_WHAT_##what},
#include "orderd/tbl/reason.h"
#undef X
};

const char *reason_name(enum reason reason)
{
    CHECK(reason < REASON_COUNT);
    return reasons[reason].name;
}

const char *reason_sentence(enum reason reason)
{
    CHECK(reason < REASON_COUNT);
    return reasons[reason].sentence;
}

enum reason_what reason_what(enum reason reason)
{
    CHECK(reason < REASON_COUNT);
    return reasons[reason].what;
}

enum reason reason_of_name(const char *name)
{
    for (int i = 1; i < REASON_COUNT; i++) {
        if (strcmp(reasons[i].name, name) == 0)
            return (enum reason)i;
    }
    return REASON_NONE;
}
