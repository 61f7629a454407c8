/* Options of orderload, for parsing and --help alike:
 *
 *   X(field, "name", TYPE, commands, default, min, max, "ARGUMENT", "prose")
 *
 * TYPE      field in struct load_options   on the command line
 * INT       int64_t                        a number; min..max
 * PERCENT   double                         "5", "5%", "0.5%"; 0..max
 * RATE      double, 0 for "max"            "max", or a number per second; up to max
 * DURATION  int64_t, ms                    "30s"
 * TEXT      const char *                   anything
 * FLAG      bool
 * FILES     struct load_files              a name; may be given again
 * commands  S sale, F fill, R rate, P pay, V verify
 * default   as it would be written; "": none. A row without default and with min > 0 must be given.
 * No guard: included once per use. */
X(conf, "config", TEXT, "SFRPV", "/etc/orderd/orderd.conf", 0, 0, "FILE", "configuration of the daemon: servers, accounts, names")
X(activity, "activity", INT, "SFRPV", "", 1, INT64_MAX, "N", "the activity")
X(buyers, "buyers", INT, "S", "10000", 1, 100000000, "U", "distinct buyers who try once each")
X(users_from, "users-from", INT, "SFR", "1", 1, INT64_C(1000000000000000000), "U", "user id of the first of them")
X(rate, "rate", RATE, "SR", "max", 0, 1000000, "R|max", "buyers or orders a second, evenly paced; max: as fast as it goes")
X(seconds, "seconds", INT, "R", "", 1, 86400, "S", "how long")
X(quantity, "quantity", INT, "SFR", "1", 1, 100, "Q", "units of each order")
X(duplicates, "duplicates", PERCENT, "S", "0", 0, 100, "P%", "of the accepted orders: published again, the same bytes, half at once and half later")
X(malformed, "malformed", PERCENT, "S", "0", 0, 50, "P%", "of all messages: bodies of many wrong kinds")
X(oversized, "oversized", PERCENT, "S", "0", 0, 20, "P%", "of all messages: bodies over 16 KiB")
X(foreign, "foreign", PERCENT, "S", "0", 0, 20, "P%", "of all messages: orders of an activity that does not exist")
X(silent, "silent", PERCENT, "S", "0", 0, 100, "P%", "of the accepted orders: never published, as if the web tier died after its deduct")
X(recovered, "recovered", FLAG, "SV", "", 0, 0, "", "those that were never published must have become orders too, by the walk; --wait and --settle are longer by as long as that takes")
X(ids, "ids", FILES, "SFRV", "", 0, 0, "FILE", "accepted orders: read first; the commands that make some append theirs to the first file")
X(share, "share", PERCENT, "P", "60", 0, 100, "P%", "of the orders: paid in time")
X(twice, "twice", PERCENT, "P", "0", 0, 100, "P%", "of those paid in time: paid twice, half with the same reference and half with another one")
X(late, "late", PERCENT, "P", "0", 0, 100, "P%", "of the orders: paid when they are closed already")
X(wrong, "wrong", PERCENT, "P", "0", 0, 100, "P%", "of the orders: paid with a wrong amount")
X(cancel, "cancel", PERCENT, "P", "0", 0, 100, "P%", "of the orders: cancelled; in turn without a payment, together with one, and after one")
X(margin_ms, "margin", DURATION, "P", "2s", 0, 86400000, "TIME", "in time is what the broker has for so long when the order's time is over; what it gets later may lose to the time-out")
X(events, "events", FLAG, "P", "", 0, 0, "", "listen to the exchange order.event too: each change must be told once")
X(payments, "payments", FILES, "PV", "", 0, 0, "FILE", "what was paid and cancelled: read first; pay appends what it does to the first file")
X(rejected, "rejected", INT, "SV", "0", 0, 100000000, "N", "accepted orders that may be rejected, because of faults made on purpose")
X(wait_ms, "wait", DURATION, "SRPV", "120s", 0, 86400000, "TIME", "longest wait for the rows, and for a server that is away")
X(settle_ms, "settle", DURATION, "SRPV", "10s", 0, 86400000, "TIME", "stop waiting when nothing has changed for so long")
X(node, "node", INT, "SFR", "-1", -1, 1023, "N", "node number in order numbers; must differ between machines; -1: from the process id")
X(json, "json", FLAG, "SFRPV", "", 0, 0, "", "print one JSON object instead of the table")
X(brief, "brief", FLAG, "SFRPV", "", 0, 0, "", "print only the counts, the checks that are broken, and the verdict")
