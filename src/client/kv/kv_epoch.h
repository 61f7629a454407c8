/* The newest configuration that the Sentinels of a primary have told of, for the whole process. Each failover makes one
 * with a higher epoch (`config-epoch`), and Sentinels hear of it from each other, within two seconds by default; one
 * that was cut off later. What it still says leads back to the primary that was demoted. */
#ifndef KV_EPOCH_H
#define KV_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

/* For so long a lower epoch is refused after the newest was heard of the last time. Then there is no such configuration
 * any more: the Sentinels were made anew and count from the beginning. */
#define KV_EPOCH_KEPT_MS 60000

/* whose: names the Sentinels and their primary; what belongs to another is forgotten. true: a Sentinel that says
 * `epoch` is behind *newest; else `epoch` is the newest from now on. now_ms: monotonic. Any thread. */
bool kv_epoch_is_behind(const char *whose, int64_t epoch, int64_t now_ms, int64_t *newest);

#endif
