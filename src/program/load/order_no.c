#include "order_no.h"

#define SINCE_2015    INT64_C(1420070400000)
#define NODE_BITS     10
#define SEQUENCE_BITS 12

int64_t order_no_next(struct order_no_maker *maker, int64_t now_ms)
{
    if (now_ms > maker->last_ms) {
        maker->last_ms = now_ms;
        maker->sequence = 0;
    } else if (++maker->sequence == 1 << SEQUENCE_BITS) {
        maker->last_ms++;
        maker->sequence = 0;
    }
    return (maker->last_ms - SINCE_2015) << (NODE_BITS + SEQUENCE_BITS) | maker->node << SEQUENCE_BITS |
           maker->sequence;
}
