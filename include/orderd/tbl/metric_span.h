/* Every span of time whose spread is kept: X(SPAN, "exposed_name", "help"). In microseconds; counted like metrics.
 * No guard: included once per use. */
X(CREATE, "critical_time", "From the reservation of an order's units to its commit.")
X(RELEASE, "release_lag", "From the end of an unpaid order's time-out to the commit that closed it.")
