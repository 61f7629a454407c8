/* Rules between configuration keys, checked after every load and again after a reload is merged:
 *
 *   X(section, lower, factor, other_section, upper)    lower * factor <= upper; both keys have the same TYPE
 *
 * There is no row for broker.call_timeout and broker.heartbeat: a peer that is silent for two heartbeats ends a call by
 * itself, so a longer call_timeout is only a second guard and a shorter one only an earlier end.
 * No guard: included once per use. */
X(broker, reconnect_min, 1, broker, reconnect_max)
X(mysql, reconnect_min, 1, mysql, reconnect_max)
X(mysql, lock_wait_timeout, 2, mysql, read_timeout)
X(redis, wait_timeout, 2, redis, command_timeout)
X(create, queues, 1, create, lanes)
X(create, batch_max, 1, create, prefetch)
X(payment, batch_max, 1, payment, prefetch)
X(cancel, batch_max, 1, cancel, prefetch)
X(survey, lost_after, 1, survey, keep_lost)
