/* Which of a cluster's 16384 slots a key lies in:
 * https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ */
#include "kv_cluster.h"

#include <string.h>

/* CRC-16 of XMODEM: polynomial 0x1021, from 0, no reflection. By the bit, since keys are few and short. */
static unsigned crc16(struct slice text)
{
    unsigned crc = 0;

    for (size_t i = 0; i < text.len; i++) {
        crc ^= (unsigned)(unsigned char)text.ptr[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
    return crc;
}

/* Only what stands between the first '{' and the next '}' counts, where that is something. */
unsigned kv_slot_of(struct slice key)
{
    const char *open = memchr(key.ptr, '{', key.len), *close;

    if (open) {
        open++;
        close = memchr(open, '}', key.len - (size_t)(open - key.ptr));
        if (close && close > open)
            key = (struct slice){open, (size_t)(close - open)};
    }
    return crc16(key) % KV_SLOTS;
}
