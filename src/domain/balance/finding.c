#include "orderd/balance.h"
#include "orderd/check.h"

static const struct {
    const char *name, *sentence, *mends;
    enum finding_about about;
    enum finding_mender mender;
} kinds[FINDING_KIND_COUNT] = {
    [FINDING_NONE] = {"", "", "", FINDING_ABOUT_ORDER, FINDING_MENDER_NOBODY},
#define X(kind, name, about, mender, sentence, mends)                                                                  \
    [FINDING_##kind] = {name, sentence, mends, FINDING_ABOUT_##about, FINDING_MENDER_##mender},
#include "orderd/tbl/finding.h"
#undef X
};

const char *finding_name(enum finding_kind kind)
{
    CHECK(kind < FINDING_KIND_COUNT);
    return kinds[kind].name;
}

const char *finding_sentence(enum finding_kind kind)
{
    CHECK(kind < FINDING_KIND_COUNT);
    return kinds[kind].sentence;
}

const char *finding_mends(enum finding_kind kind)
{
    CHECK(kind < FINDING_KIND_COUNT);
    return kinds[kind].mends;
}

enum finding_about finding_about(enum finding_kind kind)
{
    CHECK(kind < FINDING_KIND_COUNT);
    return kinds[kind].about;
}

enum finding_mender finding_mender(enum finding_kind kind)
{
    CHECK(kind < FINDING_KIND_COUNT);
    return kinds[kind].mender;
}

const char *finding_mender_name(enum finding_mender mender)
{
    static const char *const names[] = {"nobody", "walk", "repair", "person"};

    return names[mender];
}

/* ---- the verdict ---- */

const char *balance_verdict_name(enum balance_verdict verdict)
{
    static const char *const names[] = {"clean", "explained", "broken"};

    return names[verdict];
}

enum balance_verdict balance_verdict(const struct balance_report *report)
{
    enum balance_verdict verdict = BALANCE_CLEAN;

    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++) {
        enum finding_mender mender = finding_mender((enum finding_kind)kind);

        if (report->by_kind[kind].findings == 0)
            continue;
        if (mender == FINDING_MENDER_REPAIR || mender == FINDING_MENDER_PERSON)
            return BALANCE_BROKEN;
        verdict = BALANCE_EXPLAINED;
    }
    return verdict;
}
