#include "kv_private.h"

#include <string.h>

#define ADVICE_RIGHTS "give the account its rights: docs/accounts/redis.acl"

/* What the first words of an error reply mean to us. The order matters only among the ERR sentences: the longest match
 * is the one that stands first. Sources: the servers' shared.*err texts and the cluster specification. */
static const struct {
    const char *words;
    enum error_code code;
    const char *advice; /* NULL: the server's sentence says enough */
} meanings[] = {
    {"LOADING", ERROR_KV_AWAY, NULL},
    {"BUSY", ERROR_KV_AWAY, NULL},
    {"TRYAGAIN", ERROR_KV_AWAY, NULL},
    {"NOREPLICAS", ERROR_KV_AWAY, NULL},
    {"UNBLOCKED", ERROR_KV_AWAY, NULL},
    {"ERR max number of clients", ERROR_KV_AWAY, NULL},
    {"READONLY", ERROR_KV_READ_ONLY, NULL},
    {"MOVED", ERROR_KV_READ_ONLY, NULL},
    {"ASK", ERROR_KV_READ_ONLY, NULL},
    {"CLUSTERDOWN", ERROR_KV_READ_ONLY, NULL},
    {"MASTERDOWN", ERROR_KV_READ_ONLY, NULL},
    {"OOM", ERROR_KV_SETUP, NULL},
    {"MISCONF", ERROR_KV_SETUP, NULL},
    {"NOAUTH", ERROR_KV_SETUP, NULL},
    {"WRONGPASS", ERROR_KV_SETUP, NULL},
    {"NOPERM", ERROR_KV_SETUP, ADVICE_RIGHTS},
    {"DENIED", ERROR_KV_SETUP, NULL},
    {"ERR unknown command", ERROR_KV_SETUP, NULL},
    {"ERR This instance has cluster support disabled", ERROR_KV_SETUP,
     "it is no node of a cluster: name one in redis.nodes, or the other redis.mode"},
    /* 7.0 says so where the account may run the script but not a command inside it. */
    {"ERR The user executing the script can't run this command", ERROR_KV_SETUP, ADVICE_RIGHTS},
    {"ERR The user executing the script can't access", ERROR_KV_SETUP, ADVICE_RIGHTS},
    {"ERR ACL failure in script", ERROR_KV_SETUP, ADVICE_RIGHTS}, /* Redis 8, Valkey 8 */
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
    const char *advice = NULL;
    size_t len = reply->len < 300 ? reply->len : 300;

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (kv_error_is(reply, meanings[i].words)) {
            code = meanings[i].code;
            advice = meanings[i].advice;
            break;
        }
    }
    if (code == ERROR_KV_AWAY || code == ERROR_KV_READ_ONLY)
        kv->broken = true;
    while (len > 0 && (reply->str[len - 1] == '.' || reply->str[len - 1] == ' '))
        len--; /* the sentence goes on, or ends without one */
    return error_set(err, code, "%s: %.*s%s%s", kv->peer, (int)len, reply->str, advice ? "; " : "",
                     advice ? advice : "");
}
