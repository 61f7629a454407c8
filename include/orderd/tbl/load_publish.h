/* What orderload publishes: X(KIND, "name", "label", dead). dead: orderd must put it into order.dead.
 * No guard: included once per use. */
X(ORDER, "orders", "orders published", false)
X(DUPLICATE, "duplicates", "duplicates of orders", false)
X(MALFORMED, "malformed", "malformed bodies", true)
X(OVERSIZED, "oversized", "oversized bodies", true)
X(FOREIGN, "foreign", "orders of no activity", true)
