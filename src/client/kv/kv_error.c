#include "kv_private.h"

#include <string.h>

/* What the first words of an error reply mean to us. The order matters only among the ERR sentences: the longest match
 * is the one that stands first. Sources: the servers' shared.*err texts and the cluster specification. */
static const struct {
    const char *words;
    enum error_code code;
} meanings[] = {
    {"LOADING", ERROR_KV_AWAY},
    {"BUSY", ERROR_KV_AWAY},
    {"TRYAGAIN", ERROR_KV_AWAY},
    {"NOREPLICAS", ERROR_KV_AWAY},
    {"UNBLOCKED", ERROR_KV_AWAY},
    {"ERR max number of clients", ERROR_KV_AWAY},
    {"READONLY", ERROR_KV_READ_ONLY},
    {"MOVED", ERROR_KV_READ_ONLY},
    {"ASK", ERROR_KV_READ_ONLY},
    {"CLUSTERDOWN", ERROR_KV_READ_ONLY},
    {"MASTERDOWN", ERROR_KV_READ_ONLY},
    {"OOM", ERROR_KV_SETUP},
    {"MISCONF", ERROR_KV_SETUP},
    {"NOAUTH", ERROR_KV_SETUP},
    {"WRONGPASS", ERROR_KV_SETUP},
    {"NOPERM", ERROR_KV_SETUP},
    {"DENIED", ERROR_KV_SETUP},
    {"ERR unknown command", ERROR_KV_SETUP},
    {"ERR This instance has cluster support disabled", ERROR_KV_SETUP},
    /* 7.0 says so where the account may run the script but not a command inside it. */
    {"ERR The user executing the script can't run this command", ERROR_KV_SETUP},
    {"ERR The user executing the script can't access", ERROR_KV_SETUP},
    {"ERR ACL failure in script", ERROR_KV_SETUP}, /* Redis 8, Valkey 8 */
};

static bool starts_with(struct slice text, const char *words)
{
    size_t len = strlen(words);

    return text.len >= len && memcmp(text.ptr, words, len) == 0 && (text.len == len || strchr(" ,:", text.ptr[len]));
}

bool kv_error_is(const redisReply *reply, const char *word)
{
    return reply->type == REDIS_REPLY_ERROR && starts_with((struct slice){reply->str, reply->len}, word);
}

bool kv_error_translate(struct kv *kv, const redisReply *reply, struct error *err)
{
    enum error_code code = ERROR_KV_DATA;

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (kv_error_is(reply, meanings[i].words)) {
            code = meanings[i].code;
            break;
        }
    }
    if (code == ERROR_KV_AWAY || code == ERROR_KV_READ_ONLY)
        kv->broken = true;
    return error_set(err, code, "%s: %.*s", kv->peer, (int)(reply->len < 300 ? reply->len : 300), reply->str);
}
