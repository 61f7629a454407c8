#include "kv_epoch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *whose;
    int64_t epoch, heard_ms;
} known;

static bool is_behind(const char *whose, int64_t epoch, int64_t now_ms)
{
    return known.whose && strcmp(known.whose, whose) == 0 && epoch < known.epoch &&
           now_ms - known.heard_ms < KV_EPOCH_KEPT_MS;
}

static void note(const char *whose, int64_t epoch, int64_t now_ms)
{
    if (!known.whose || strcmp(known.whose, whose) != 0) {
        free(known.whose);
        known.whose = check_strdup(whose);
    }
    known.epoch = epoch;
    known.heard_ms = now_ms;
}

bool kv_epoch_is_behind(const char *whose, int64_t epoch, int64_t now_ms, int64_t *newest)
{
    bool behind;

    CHECK_ZERO(pthread_mutex_lock(&lock));
    behind = is_behind(whose, epoch, now_ms);
    if (!behind)
        note(whose, epoch, now_ms);
    *newest = known.epoch;
    CHECK_ZERO(pthread_mutex_unlock(&lock));
    return behind;
}
