/* Commands of orderload: X(COMMAND, "name", "arguments", "one line", "what it does", "examples").
 * No guard: included once per use. */
X(SALE, "sale", "--activity N [OPTIONS]", "make a sale through Redis and RabbitMQ, then verify it",
  "Distinct buyers take units by the real deduct script; those who get some publish an order message with confirms, as a\n"
  "web tier would. Servers that go away are waited for, and nothing that was accepted is forgotten. Then it waits until\n"
  "the database holds every accepted order, and verifies by id sets (see orderload verify --help).\n",
  "  orderload sale --activity 1001 --buyers 20000\n"
  "  orderload sale --activity 1001 --buyers 5000 --rate 500 \\\n"
  "      --duplicates 10 --malformed 2% --oversized 1%\n"
  "  orderload sale --activity 1001 --silent 5 --recovered --ids run.ids --json\n")
X(FILL, "fill", "COUNT --activity N [OPTIONS]", "fill the queue with valid orders, without Redis",
  "Publishes COUNT orders of distinct buyers as fast as confirms allow, for drain benchmarks. Nothing is deducted in Redis,\n"
  "so use an activity of its own with at least COUNT units.\n",
  "  orderload fill 200000 --activity 1002\n"
  "  orderload fill 1000 --activity 1002 --users-from 200001 --ids fill.ids\n")
X(RATE, "rate", "--activity N --rate R --seconds S [OPTIONS]", "measure latency from publish to row at a paced rate",
  "Publishes R orders a second of distinct buyers for S seconds, without Redis, and prints how long each took from its\n"
  "publish to its row. The row's time is orders.created_at, by the database's clock: the moment its INSERT began (its COMMIT\n"
  "follows). The other end is this machine's clock, so both must be one machine's, or be in step to a fraction of what is\n"
  "measured.\n",
  "  orderload rate --activity 1002 --rate 200 --seconds 30\n")
X(PAY, "pay", "--activity N [OPTIONS]", "pay orders, or not, as a payment service and its buyers would; then verify it",
  "Finds the pending orders of the activity in MySQL as they appear, and publishes payments and cancellations for its\n"
  "shares of them, with confirms; the others are never paid. It goes on until none is pending and no new one has come for\n"
  "--settle, or until --wait is over. Then it verifies by id sets: what was paid in time is paid once, by that payment;\n"
  "money that pays for nothing is to be refunded, once; what was not paid is closed.\n",
  "  orderload pay --activity 1001\n"
  "  orderload pay --activity 1001 --share 60 --twice 10 --late 5 \\\n"
  "      --wrong 3 --cancel 8 --events --payments run.payments\n")
X(VERIFY, "verify", "--activity N --ids FILE... [OPTIONS]", "only verify: every accepted order once, no unit lost or sold twice",
  "Reads all orders of the activity from MySQL, and reservations, buyers' marks and counters of every shard from Redis, and\n"
  "compares them with the accepted orders of the ids files that earlier runs have written (--ids of the other commands),\n"
  "and payments with what pay has written (--payments). Files that have nothing of this activity are refused (65): they\n"
  "would prove nothing. The file of a sale that accepted no order has a head, and is good where there is no order.\n"
  "Run it when nothing is on its way any more, or with --wait.\n",
  "  orderload verify --activity 1001 --ids run1.ids --ids run2.ids\n"
  "  orderload verify --activity 1001 --ids *.ids --wait 60s --json\n"
  "  orderload verify --activity 1001 --ids run.ids --payments run.payments\n")
