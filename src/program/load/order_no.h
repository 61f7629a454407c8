/* Order numbers as our own tools make them: 41 bits of milliseconds since 2015, 10 bits of node, 12 bits of sequence,
 * as 19 decimal digits. Unique as long as no two processes with one node number run in the same millisecond. One owner.
 */
#ifndef ORDERD_LOAD_ORDER_NO_H
#define ORDERD_LOAD_ORDER_NO_H

#include <stdint.h>

#define ORDER_NO_NODE_MAX 1023

struct order_no_maker {
    int64_t node, last_ms, sequence;
};

/* More than 4096 in one millisecond are taken from the milliseconds to come; a clock that steps back is not followed.
 */
int64_t order_no_next(struct order_no_maker *maker, int64_t now_ms);

#endif
