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
 * commands  S sale, F fill, R rate, V verify
 * default   as it would be written; "": none. A row without default and with min > 0 must be given.
 * No guard: included once per use. */
X(conf, "config", TEXT, "SFRV", "/etc/orderd/orderd.conf", 0, 0, "FILE", "configuration of the daemon: servers, accounts, names")
X(activity, "activity", INT, "SFRV", "", 1, INT64_MAX, "N", "the activity")
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
X(wait_ms, "wait", DURATION, "SRV", "120s", 0, 86400000, "TIME", "longest wait for the rows, and for a server that is away")
X(settle_ms, "settle", DURATION, "SRV", "10s", 0, 86400000, "TIME", "stop waiting when nothing has changed for so long")
X(node, "node", INT, "SFR", "-1", -1, 1023, "N", "node number in order numbers; must differ between machines; -1: from the process id")
X(json, "json", FLAG, "SFRV", "", 0, 0, "", "print one JSON object instead of the table")
