/* How many deducts a second Redis answers on one shard, DEPTH calls in flight on one connection. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"

static char *read_whole(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 65536);

    if (f == NULL || fread(text, 1, 65535, f) == 0)
        limit_fail("%s cannot be read", path);
    fclose(f);
    return text;
}

static void load(redisContext *redis, const char *path, char sha[41])
{
    char *script = read_whole(path);
    redisReply *reply = redisCommand(redis, "SCRIPT LOAD %s", script);

    if (reply == NULL || reply->type != REDIS_REPLY_STRING || reply->len != 40)
        limit_fail("redis: the script does not load");
    memcpy(sha, reply->str, 41);
    freeReplyObject(reply);
    free(script);
}

static void send(redisContext *redis, const char *sha, long activity, long i)
{
    char keys[5][64];
    static const char *const names[] = {"stock", "held", "gone", "buyers", "meta"};

    for (int k = 0; k < 5; k++)
        snprintf(keys[k], sizeof keys[k], "sk:{%ld:0}:%s", activity, names[k]);
    if (redisAppendCommand(redis, "EVALSHA %s 5 %s %s %s %s %s %019ld %ld 1 9900 1", sha, keys[0], keys[1], keys[2],
                           keys[3], keys[4], i, i) != REDIS_OK)
        limit_fail("redis: no room for a call");
}

static void take(redisContext *redis)
{
    redisReply *reply;

    if (redisGetReply(redis, (void **)&reply) != REDIS_OK)
        limit_fail("redis: no answer");
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 1 || reply->element[0]->integer != 1)
        limit_fail("redis: a deduct was refused (%lld)", reply->elements ? reply->element[0]->integer : -99);
    freeReplyObject(reply);
}

void limit_script(char **arguments)
{
    long activity = limit_number(arguments[1], 1, 1000000000), count = limit_number(arguments[2], 1, 100000000),
         depth = limit_number(arguments[3], 1, 10000), sent = 0;
    redisContext *redis = limit_redis();
    char sha[41];
    double began;

    load(redis, arguments[0], sha);
    began = limit_seconds();
    for (long answered = 0; answered < count; answered++) {
        for (; sent < count && sent - answered < depth; sent++)
            send(redis, sha, activity, sent + 1);
        take(redis);
    }
    limit_print("script", count, limit_seconds() - began);
    redisFree(redis);
}
