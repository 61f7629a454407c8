/* The commands of orderctl:
 *
 *   X(id, "words", "operands", least, most, "what it does", "more")
 *
 * id        names the function ctl_<id> and, in tbl/ctl_option.h, the rows of its options
 * words     one or two, unique; commands of one first word stand together
 * operands  as shown in its usage line, least to most of them (SIZE_MAX: any number); "ID" is one number from 1 up
 * more      lines of at most 78 columns for its --help: what it does exactly, exit codes of its own, examples
 * No guard: included once per use. */
X(migrate_status, "migrate status", "", 0, 0, "show which migrations of the schema are applied",
  "Lists the migrations that this orderctl brings along and those that the\n"
  "database has: applied, pending, changed (applied from a file with other\n"
  "content) or foreign (applied by a newer orderd). Changes nothing.\n"
  "\n"
  "Exit codes: 0 all applied; 1 some are pending; 78 the database was made by\n"
  "another or a newer build.\n"
  "\n"
  "Examples:\n"
  "  orderctl migrate status\n"
  "  orderctl migrate status --json | jq -r 'select(.state != \"applied\").name'\n")
X(migrate_up, "migrate up", "", 0, 0, "apply what is pending",
  "Applies pending migrations in their order, under a named lock of the database:\n"
  "a second run waits up to 5 seconds for the first. May be run at any time and\n"
  "again: a migration that was cut short is simply run again. Refuses where a\n"
  "migration was changed, or where the database is newer than this orderctl.\n"
  "\n"
  "The account needs CREATE, ALTER, INDEX, REFERENCES, SELECT, INSERT, UPDATE and\n"
  "DELETE on the schema, which must exist.\n"
  "\n"
  "Exit codes: 0 the schema is up to date; 75 another migration is running; 78\n"
  "the database was made by another or a newer build, or the account may not.\n"
  "\n"
  "Examples:\n"
  "  orderctl migrate up --dry-run\n"
  "  orderctl -c /etc/orderd/admin.conf migrate up\n")
X(topology_apply, "topology apply", "", 0, 0, "make the missing exchanges, queues and bindings",
  "Declares every exchange and queue that is missing and binds the queues. What is\n"
  "there is never changed or deleted: where it is different from what orderd\n"
  "needs, the broker's own words and what to do are shown. Queue type and delivery\n"
  "limit come from broker.queue_type and broker.delivery_limit.\n"
  "\n"
  "Each item is present, created, bound, missing (with --dry-run: would be\n"
  "created), different or forbidden (the account may not look at it, or not make\n"
  "it).\n"
  "\n"
  "Exit codes: 0 all is there; 3 something is different or forbidden.\n"
  "\n"
  "Examples:\n"
  "  orderctl topology apply --dry-run\n"
  "  orderctl topology apply\n")
X(topology_check, "topology check", "", 0, 0, "compare the broker with what orderd needs",
  "Looks at every exchange and queue and changes nothing. AMQP cannot look at a\n"
  "binding: `orderctl topology apply` makes sure of those.\n"
  "\n"
  "Exit codes: 0 all is as it should be; 1 something is missing or different; 77\n"
  "the account may not look at something, and nothing else is wrong.\n"
  "\n"
  "Examples:\n"
  "  orderctl topology check\n"
  "  orderctl topology check --json | jq -r 'select(.state == \"different\").detail'\n")
X(activity_create, "activity create", "", 0, 0, "write down a new activity, in review",
  "An activity is one sale: its price, stock and times. It can be looked at until\n"
  "it is approved, and is frozen from then on. The same command again says that\n"
  "the activity is there already; with other values it is refused.\n"
  "\n"
  "WHEN is an instant in UTC such as 2026-12-01T10:00:00Z, or lies relative to the\n"
  "creation by the clock of the database: now, +5m, +2h. Money is in minor units\n"
  "of the currency: 9900 is 99.00 CNY.\n"
  "\n"
  "Examples:\n"
  "  orderctl activity create --id 1001 --title 'Winter sale' --sku 77 \\\n"
  "    --price 9900 --currency CNY --stock 1000 --shards 4 \\\n"
  "    --starts 2026-12-01T10:00:00Z --ends 2026-12-01T12:00:00Z\n"
  "  orderctl activity create --id 1 --title Trial --sku 1 --price 100 \\\n"
  "    --currency EUR --stock 10 --starts now --ends +2h --dry-run\n")
X(activity_approve, "activity approve", "ID", 1, 1, "freeze an activity and schedule it",
  "From review to scheduled, with epoch 1. From then on nothing of it can be\n"
  "changed, and it can be preheated. Again: says that it is approved already.\n"
  "\n"
  "Example:\n"
  "  orderctl activity approve 1001\n")
X(activity_preheat, "activity preheat", "ID", 1, 1, "put the stock of a scheduled activity into Redis",
  "Splits the stock over the shards (the first ones take what does not divide),\n"
  "creates each shard in Redis and reads it back: every value and every TTL. The\n"
  "keys live until the last payment can have timed out, and two hours more.\n"
  "\n"
  "Never overwrites a live key: where one has other values, nothing is changed and\n"
  "what is there is shown. May be run again at any time: what a crash left undone\n"
  "is completed, what is there is verified. A shard that may have been sold and is\n"
  "gone from Redis is not made again.\n"
  "\n"
  "Exit codes: 0 all shards are on sale; 65 refused, with the reason.\n"
  "\n"
  "Examples:\n"
  "  orderctl activity preheat 1001 --dry-run\n"
  "  orderctl activity preheat 1001\n")
X(activity_start, "activity start", "ID", 1, 1, "open a sale now, before its time",
  "A scheduled and preheated activity runs from now on, by the clock of the\n"
  "database. Without this command it starts by itself at its time, while an orderd\n"
  "is up. Again: says that it is running, and makes sure that every shard knows.\n"
  "\n"
  "MySQL decides; then each shard in Redis gets the new times, and the change is\n"
  "announced to gates. What a crash leaves undone in Redis is done by the same\n"
  "command again, or by a running orderd within a second.\n"
  "\n"
  "Exit codes: 0 running; 3 running in MySQL, and Redis does not know it yet; 65\n"
  "refused, with the reason; 75 another command changes this activity.\n"
  "\n"
  "Examples:\n"
  "  orderctl activity start 1001 --dry-run\n"
  "  orderctl activity start 1001\n")
X(activity_end, "activity end", "ID", 1, 1, "end a sale now, before its time",
  "No more units can be taken; orders that were accepted are still created, paid\n"
  "or closed. A sale that has not begun never will. Without this command a sale\n"
  "ends by itself at its time. Again: says that it is over, and makes sure that\n"
  "every shard knows. Crashes and exit codes are as for `orderctl activity start`.\n"
  "\n"
  "Example:\n"
  "  orderctl activity end 1001\n")
X(activity_extend, "activity extend", "ID", 1, 1, "let a sale go on for longer",
  "Moves the end to a later instant, and the TTLs of the keys with it. A sale that\n"
  "has ended runs again, if its keys are still in Redis.\n"
  "\n"
  "WHEN is an instant in UTC such as 2026-12-01T10:00:00Z, or lies relative to now\n"
  "by the clock of the database: +30m. The same instant again changes nothing. An\n"
  "earlier end is `orderctl activity end`. Crashes and exit codes are as for\n"
  "`orderctl activity start`.\n"
  "\n"
  "Examples:\n"
  "  orderctl activity extend 1001 --ends +30m --dry-run\n"
  "  orderctl activity extend 1001 --ends 2026-12-01T14:00:00Z\n")
X(activity_show, "activity show", "ID", 1, 1, "show an activity and whether its numbers add up",
  "The activity, its orders in MySQL, its shards in Redis, and the balance between\n"
  "them. MySQL and Redis are read a moment apart, so while orders come in a few\n"
  "units may be on their way; `held without a live order` is their net number.\n"
  "\n"
  "Exit codes: 0 shown; 3 Redis could not be read, the rest is shown; 65 there is\n"
  "no such activity.\n"
  "\n"
  "Examples:\n"
  "  orderctl activity show 1001\n"
  "  orderctl activity show 1001 --json | jq .balance\n")
X(activity_list, "activity list", "", 0, 0, "list all activities",
  "By ascending id, times in UTC.\n"
  "\n"
  "Examples:\n"
  "  orderctl activity list\n"
  "  orderctl activity list --json | jq -r 'select(.state == \"scheduled\").id'\n")
X(outbox_stats, "outbox stats", "", 0, 0, "count the local messages, and say how long they have waited",
  "The local message table holds what a committed transaction wants sent: orders,\n"
  "events, dead letters, units that go back to Redis. Counts its rows by topic\n"
  "and state, with the age of the oldest, and shows the most frequent errors.\n"
  "\n"
  "pending      waits for its time (due), or is being sent right now (leased)\n"
  "sent         done; deleted after relay.keep_sent\n"
  "quarantined  failed too often, or can never be sent: waits for somebody to act\n"
  "\n"
  "All times are by the clock of the database. A big table is counted piece by\n"
  "piece, while it changes.\n"
  "\n"
  "Examples:\n"
  "  orderctl outbox stats\n"
  "  orderctl outbox stats --json | jq .overdue_ms\n")
X(outbox_list, "outbox list", "", 0, 0, "list local messages",
  "By ascending id. DUE says when a pending message may be sent next, `late` for\n"
  "how long it has been due; LEASED BY who is sending it right now.\n"
  "\n"
  "WHEN is an instant in UTC such as 2026-12-01T10:00:00Z, or lies before now by\n"
  "the clock of the database: -5m, -2h. It is compared with the creation.\n"
  "\n"
  "Examples:\n"
  "  orderctl outbox list --state quarantined --limit 0\n"
  "  orderctl outbox list --due --topic order.create --since -1h\n"
  "  orderctl outbox list --key stock.return: --json | jq -r .key\n")
X(outbox_show, "outbox show", "KEY|ID...", 1, SIZE_MAX, "show local messages with all they hold",
  "A number is an id, anything else a key; - reads more of them from standard\n"
  "input, one a line. A payload that is JSON is shown indented, any other as text;\n"
  "bytes that are no printable characters are shown as \\x1b. With --json the\n"
  "payload is a string where it is UTF-8, and in base64 where it is not.\n"
  "\n"
  "Exit codes: 0 all shown; 3 some are not there; 65 none is.\n"
  "\n"
  "Examples:\n"
  "  orderctl outbox show order.dead:1812345678901234567\n"
  "  orderctl outbox show 17 --json | jq '.payload | fromjson'\n")
X(outbox_retry, "outbox retry", "[KEY|ID...]", 0, SIZE_MAX, "send local messages now, with all their attempts before them",
  "Makes quarantined messages pending again, and pending ones that wait due now. A\n"
  "number is an id, anything else a key; - reads more of them from standard input,\n"
  "one a line. Which rows it is about is decided once, at the beginning: a row\n"
  "that has changed when its turn comes is left alone, and so is one that is being\n"
  "sent right now.\n"
  "\n"
  "Each row is retried (with --dry-run: would be retried), leased (it is being\n"
  "sent), sent (already), changed or missing.\n"
  "\n"
  "Exit codes: 0 all will be sent; 3 some will not, and each says why.\n"
  "\n"
  "Examples:\n"
  "  orderctl outbox retry --all-quarantined --topic order.create --dry-run\n"
  "  orderctl outbox retry stock.return:1812345678901234567\n"
  "  orderctl outbox list --state quarantined --limit 0 --json | jq .id > ids\n"
  "  orderctl outbox retry - < ids\n")
X(outbox_purge, "outbox purge", "[KEY|ID...]", 0, SIZE_MAX, "delete local messages that are sent, or given up",
  "Deletes rows in this state: all of them, those that the options choose, or those\n"
  "that are named (a number is an id, anything else a key; - reads more of them\n"
  "from standard input, one a line). Pending messages are never deleted. Works in\n"
  "small batches while the relay goes on.\n"
  "\n"
  "What is quarantined was never sent, and nobody sends it once it is deleted: an\n"
  "order is lost, an event is never heard of, and the units of a stock.return never\n"
  "go back on sale. So it takes --confirm with the number of rows that --dry-run\n"
  "names, and refuses where there are more or fewer by then.\n"
  "\n"
  "WHEN is as in `orderctl outbox list --help`.\n"
  "\n"
  "Exit codes: 0 deleted; 3 some rows had changed meanwhile, or are not there, or\n"
  "are in another state; 65 the number to confirm is another.\n"
  "\n"
  "Examples:\n"
  "  orderctl outbox purge --state sent --older-than 1h --dry-run\n"
  "  orderctl outbox purge --state quarantined --topic test.topic --dry-run\n"
  "  orderctl outbox purge --state quarantined --topic test.topic --confirm 3\n")
X(config_check, "config check", "", 0, 0, "check the configuration file",
  "Reads the file and the secrets that it names; touches no server. One sentence\n"
  "names the first problem, with file and line.\n"
  "\n"
  "Exit codes: 0 good; 78 not.\n"
  "\n"
  "Example:\n"
  "  orderctl -c ./new.conf config check\n")
X(config_dump, "config dump", "", 0, 0, "show the configuration in force and where it was set",
  "Every key with its value and its origin; secrets stay secret. The output is a\n"
  "configuration file again.\n"
  "\n"
  "Examples:\n"
  "  orderctl config dump\n"
  "  orderctl config dump --json | jq -r 'select(.file).key'\n")
X(config_defaults, "config defaults", "", 0, 0, "show the commented sample configuration",
  "Every key with what it is for, its range and its default. Reads no file.\n"
  "\n"
  "Example:\n"
  "  orderctl config defaults > orderd.conf\n")
