#include "orderd/stock.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/check.h"

/* CRC-32 as in ISO 3309: reflected, polynomial 0xEDB88320. A user id has at most 20 digits, so no table pays. */
static uint32_t crc32_of(const char *text)
{
    uint32_t crc = 0xffffffffu;

    for (; *text; text++) {
        crc ^= (unsigned char)*text;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
    }
    return ~crc;
}

int stock_home_shard(int64_t user, int shards)
{
    char digits[24];

    CHECK(shards >= 1 && shards <= STOCK_SHARDS_MAX);
    snprintf(digits, sizeof digits, "%" PRId64, user);
    return (int)(crc32_of(digits) % (uint32_t)shards);
}

void stock_keys_of(struct stock_keys *keys, int64_t activity, int shard)
{
    static const char *const names[STOCK_KEY_COUNT] = {"stock", "held", "gone", "buyers", "meta"};

    for (int i = 0; i < STOCK_KEY_COUNT; i++)
        snprintf(keys->text[i], sizeof keys->text[i], "sk:{%" PRId64 ":%d}:%s", activity, shard, names[i]);
}

void stock_state_key(char out[STOCK_STATE_KEY_MAX], int64_t activity)
{
    snprintf(out, STOCK_STATE_KEY_MAX, "sk:{%" PRId64 ":0}:state", activity);
}
