/* The numbers of an audit after its code, in the order of the script's answer: X(field). No guard: included once per
 * use. */
X(left)        /* units in stock */
X(cap)         /* units this shard may have in all */
X(held)        /* units of reservations */
X(sold)        /* units of paid orders */
X(forfeited)   /* units that the database never had */
X(epoch)
X(limit)       /* units one buyer may hold */
X(starts_at)   /* ms since 1970, as all times here */
X(ends_at)
X(paused)      /* 0 or 1 */
X(expire_at)
X(held_orders) /* fields of each hash */
X(gone_orders)
X(buyer_marks)
X(ttl_stock)   /* ms; -2: no such key, -1: no TTL */
X(ttl_held)
X(ttl_gone)
X(ttl_buyers)
X(ttl_meta)
X(now)         /* by the clock of Redis */
X(out)         /* units that left by transfers, less those that came by them */
