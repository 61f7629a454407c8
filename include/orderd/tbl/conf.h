/* Every configuration key, once. The parser, the checks, --dump-config, --dump-defaults (config/orderd.conf), the
 * manual and the struct in conf.h all come from these rows.
 *
 *   X(section, name, TYPE, default, min, max, FLAGS, "prose")
 *
 * TYPE      field in struct conf           in the file              default / min / max
 * INT       int64_t                        a number                 numbers
 * DURATION  int64_t, milliseconds          "250ms" "5s" "15m"       milliseconds
 * SECONDS   int64_t, milliseconds          "5s" "15m"               milliseconds; whole seconds only
 * SIZE      int64_t, bytes                 "64KiB" "16MiB"          bytes
 * BOOL      bool                           true / false             1 or 0, 0, 1
 * STRING    const char *                   "text"                   "text", shortest, longest in bytes
 * SECRET    const char * (the content)     "name of a file"         "", 0, longest content in bytes
 * FILE      const char * (where it is)     "name of a file"         "", 0, 0
 * KEY_FILE  as FILE, with a private key    "name of a file"         "", 0, 0
 * CHOICE    int (index into the words)     "word"                   "word", 0, 0; prose begins with "a|b|c: "
 * NODES     const char * (conf_node_next)  "host:port, [::1]:port"  "text", fewest, most servers
 * DELAYS    struct conf_delays             "1s,5s,30s"              "text", shortest, longest delay in ms
 *
 * FLAGS     RESTART  read once at start          RELOAD  taken over on SIGHUP
 *
 * Rules between keys are rows of tbl/conf_rule.h.
 * No guard: included once per use. */

X(daemon, drain_timeout, DURATION, 25000, 1000, 600000, RELOAD,
  "How long SIGTERM waits for the work in hand: finish, commit, acknowledge. What is not done by then goes back to the broker. The unit's TimeoutStopSec must be longer.")

X(broker, host, STRING, "127.0.0.1", 1, 255, RESTART, "RabbitMQ host name or address; without broker.hosts.")
X(broker, port, INT, 5672, 1, 65535, RESTART, "Its port (AMQP 0-9-1); with broker.tls that of its TLS listener, by custom 5671.")
X(broker, hosts, NODES, "", 0, 16, RESTART,
  "The nodes of a cluster, as \"10.0.0.1:5672, 10.0.0.2:5672, 10.0.0.3:5672\"; IPv6 addresses in brackets. Then broker.host and broker.port are not used. Connections are spread over all of them; each tries one after the other until it is connected, and for 15 seconds those last that just failed, or lost a connection. Empty: broker.host alone.")
X(broker, vhost, STRING, "/", 1, 255, RESTART, "Virtual host.")
X(broker, auth, CHOICE, "plain", 0, 0, RESTART,
  "plain|external: Log in with user and password; or with broker.tls_cert_file alone, whose common name, or what else ssl_cert_login_from of the server's configuration says, is the user: by its plug-in rabbitmq_auth_mechanism_ssl, with EXTERNAL among its auth_mechanisms.")
X(broker, user, STRING, "guest", 1, 255, RESTART, "User name; not used with broker.auth \"external\", nor is the password.")
X(broker, password_file, SECRET, "", 0, 1024, RESTART,
  "File that holds the password, one line; relative names are looked up in $CREDENTIALS_DIRECTORY, then beside this file. Empty: the password is \"guest\".")
X(broker, tls, CHOICE, "off", 0, 0, RESTART,
  "off|verify: In plain text, or TLS 1.2 or later (amqps) to a server whose certificate is signed by broker.tls_ca_file, is valid now, and names the host as it is called here.")
X(broker, tls_ca_file, FILE, "", 0, 0, RESTART,
  "File with the certificates, in PEM, of the authorities that may have signed the server's; one that is signed by itself is its own authority. Relative names as in broker.password_file. The three files are read again at each connect.")
X(broker, tls_cert_file, FILE, "", 0, 0, RESTART,
  "File with our own certificate, in PEM, followed by those between it and its authority: for a server that asks for one.")
X(broker, tls_key_file, KEY_FILE, "", 0, 0, RESTART, "File with the private key of broker.tls_cert_file, in PEM, without a passphrase.")
X(broker, heartbeat, SECONDS, 10000, 5000, 60000, RESTART,
  "Heartbeat interval. A peer that is silent for twice as long counts as dead. Whole seconds.")
X(broker, connect_timeout, DURATION, 5000, 100, 60000, RESTART, "Time-out for connecting and logging in.")
X(broker, call_timeout, DURATION, 10000, 500, 120000, RESTART,
  "Longest time one call into the broker's library may take before its socket is shut down, and the longest wait for a publisher confirm.")
X(broker, reconnect_min, DURATION, 200, 10, 60000, RESTART, "First wait before connecting again; it doubles, with jitter.")
X(broker, reconnect_max, DURATION, 5000, 100, 600000, RESTART, "Longest wait before connecting again.")
X(broker, queue_type, CHOICE, "quorum", 0, 0, RESTART,
  "quorum|classic: Type of the queues that `orderctl topology apply` declares and the daemon expects.")
X(broker, delivery_limit, INT, 20, 1, 1000000, RESTART,
  "Delivery limit of the quorum work queues: a guard against messages that crash every worker, not the retry counter.")
X(broker, topology, CHOICE, "verify", 0, 0, RESTART,
  "declare|verify|trust: At start, declare what is missing; or only compare queues and arguments and refuse unsafe ones; or look at nothing (for an account that may only read and write).")

X(mysql, hosts, NODES, "", 0, 16, RESTART,
  "A primary and its replicas, as \"10.0.0.1:3306, 10.0.0.2:3306\"; IPv6 addresses in brackets. The one that takes writes is used (replicas have read_only set), by all connections of a process, and left when it takes none any more. docs/primary.md says what a switch may lose. Empty: the server of mysql.host or mysql.socket.")
X(mysql, host, STRING, "127.0.0.1", 1, 255, RESTART, "MySQL or MariaDB host name or address, of a server that takes writes. Not used with mysql.hosts.")
X(mysql, port, INT, 3306, 1, 65535, RESTART, "Port.")
X(mysql, socket, STRING, "", 0, 107, RESTART, "Path of a local socket; when set, host and port are not used. Not used with mysql.hosts.")
X(mysql, user, STRING, "orderd", 1, 80, RESTART, "Account.")
X(mysql, password_file, SECRET, "", 0, 1024, RESTART,
  "File that holds the password, one line; relative names as in broker.password_file. Empty: no password.")
X(mysql, tls, CHOICE, "preferred", 0, 0, RESTART,
  "off|preferred|required|verify: Plain text; TLS where the server offers it; TLS, whoever the server is; or TLS with a server whose certificate is signed by mysql.tls_ca_file, is valid now, and names mysql.host, or its name in mysql.hosts. Only verify keeps out who sits between. A local socket is not encrypted. The same on both client libraries, but that libmariadb finds out only after it has logged in (by hash, not by password) that there is no TLS where it is required.")
X(mysql, tls_ca_file, FILE, "", 0, 0, RESTART,
  "File with the certificates, in PEM, of the authorities that may have signed the server's; one that is signed by itself is its own authority. Relative names as in broker.password_file. The three files are read again at each connect.")
X(mysql, tls_cert_file, FILE, "", 0, 0, RESTART,
  "File with our own certificate, in PEM, followed by those between it and its authority: for a server that asks for one.")
X(mysql, tls_key_file, KEY_FILE, "", 0, 0, RESTART, "File with the private key of mysql.tls_cert_file, in PEM, without a passphrase.")
X(mysql, database, STRING, "orderd", 1, 64, RESTART, "Schema that holds orderd's tables.")
X(mysql, connect_timeout, SECONDS, 5000, 1000, 60000, RESTART, "Time-out for connecting. Whole seconds.")
X(mysql, read_timeout, SECONDS, 10000, 2000, 60000, RESTART,
  "Longest wait for an answer; a statement that takes longer counts as lost and is repeated. For as long MariaDB lets a transaction of ours lie that was left in the middle. Whole seconds, at least twice mysql.lock_wait_timeout.")
X(mysql, lock_wait_timeout, SECONDS, 3000, 1000, 30000, RESTART, "innodb_lock_wait_timeout of our sessions. Whole seconds.")
X(mysql, reconnect_min, DURATION, 100, 10, 60000, RESTART, "First wait before connecting again; it doubles, with jitter.")
X(mysql, reconnect_max, DURATION, 3000, 100, 600000, RESTART, "Longest wait before connecting again.")

X(redis, mode, CHOICE, "server", 0, 0, RESTART,
  "server|sentinel|cluster: One server at redis.host; or the primary that Sentinels name: each connection asks them first, and is used only where its server says itself that it is the primary; or a Redis Cluster, over whose servers the shards of a sale are spread.")
X(redis, host, STRING, "127.0.0.1", 1, 255, RESTART, "Redis or Valkey host name or address; with redis.mode \"server\" only.")
X(redis, port, INT, 6379, 1, 65535, RESTART, "Port; with redis.tls that of the server's tls-port.")
X(redis, nodes, NODES, "", 0, 64, RESTART,
  "The Sentinels, or some servers of the cluster, as \"10.0.0.1:26379, 10.0.0.2:26379\"; IPv6 addresses in brackets. Of Sentinels the first that answers is asked, and asked first the next time; of a cluster any server tells all others. With redis.mode \"server\" it is not used.")
X(redis, sentinel_master, STRING, "mymaster", 1, 255, RESTART, "The primary's name in the configuration of the Sentinels.")
X(redis, sentinel_user, STRING, "", 0, 255, RESTART, "ACL user at the Sentinels; empty: the default user.")
X(redis, sentinel_password_file, SECRET, "", 0, 1024, RESTART,
  "File that holds the password for the Sentinels, one line; relative names as in broker.password_file. Empty: no AUTH.")
X(redis, sentinel_timeout, DURATION, 500, 50, 10000, RESTART,
  "Time-out for connecting to one Sentinel, and for its answer; after that the next is asked.")
X(redis, user, STRING, "", 0, 255, RESTART, "ACL user; empty: the default user.")
X(redis, password_file, SECRET, "", 0, 1024, RESTART,
  "File that holds the password, one line; relative names as in broker.password_file. Empty: no AUTH.")
X(redis, tls, CHOICE, "off", 0, 0, RESTART,
  "off|verify: In plain text, or TLS 1.2 or later to a server whose certificate is signed by redis.tls_ca_file, is valid now, and names redis.host. With redis.mode \"sentinel\" or \"cluster\" all of them, and each certificate names its server as redis.nodes, the Sentinels or the cluster do.")
X(redis, tls_ca_file, FILE, "", 0, 0, RESTART,
  "File with the certificates, in PEM, of the authorities that may have signed the server's; one that is signed by itself is its own authority. Relative names as in broker.password_file. The three files are read again at each connect.")
X(redis, tls_cert_file, FILE, "", 0, 0, RESTART,
  "File with our own certificate, in PEM, followed by those between it and its authority: for a server that asks for one.")
X(redis, tls_key_file, KEY_FILE, "", 0, 0, RESTART, "File with the private key of redis.tls_cert_file, in PEM, without a passphrase.")
X(redis, database, INT, 0, 0, 15, RESTART, "Database number; a cluster has only 0.")
X(redis, connect_timeout, DURATION, 3000, 100, 60000, RESTART, "Time-out for connecting.")
X(redis, command_timeout, DURATION, 3000, 100, 60000, RESTART,
  "Longest wait for an answer; a script that takes longer counts as unknown and is repeated.")
X(redis, wait_replicas, INT, 0, 0, 10, RESTART,
  "After each round trip with scripts that write, wait (WAIT) until so many replicas have what it wrote. 0: do not. What is not confirmed in time counts as done all the same: it is counted and told, and after a failover the walk finds what is missing.")
X(redis, wait_timeout, DURATION, 100, 1, 10000, RESTART,
  "How long redis.wait_replicas are waited for; the most that each such round trip takes longer while a replica lags or is away.")

X(create, queue, STRING, "order.create", 1, 200, RESTART, "Work queue that the create lanes consume.")
X(create, queues, INT, 1, 1, 16, RESTART,
  "How many work queues the orders are spread over, by activity, where one queue, which is one core of the broker, is the limit: create.queue, and the same name with .2, .3 and so on. Web tiers are told too (docs/web-tier.md); a message in another queue is created all the same. Every process needs a lane for each. Raising it needs `orderctl topology apply`; after lowering it what the others still hold is taken, as long as they are there.")
X(create, lanes, INT, 2, 1, 64, RESTART, "Create lanes (threads) in this process; each has its own connections.")
X(create, batch_max, INT, 500, 1, 5000, RELOAD, "Most orders in one transaction. A batch is what has arrived, never waited for.")
X(create, prefetch, INT, 1000, 1, 2000, RESTART,
  "Deliveries the broker may hand to a lane ahead of its acknowledgements; at least twice create.batch_max keeps a lane busy. A crash returns up to this many to the queue.")
X(create, hold_max, DURATION, 600000, 1000, 1500000, RELOAD,
  "How long a lane keeps its unacknowledged batch while a server is away, before it gives the deliveries back once and waits without any. Keep it well under the broker's consumer_timeout (30 minutes by default).")
X(create, unknown_tries, INT, 3, 1, 20, RELOAD,
  "Times an order is tried in place on a database error that orderd does not know, before that counts as the order's own failure.")
X(create, activity_refresh, DURATION, 5000, 100, 60000, RELOAD,
  "How long a lane trusts what it read of an activity (prices and time-outs are frozen once it is approved).")

X(payment, lanes, INT, 1, 0, 16, RESTART, "Payment lanes (threads) in this process, which work on order.paid; 0: none here.")
X(payment, batch_max, INT, 500, 1, 500, RELOAD, "Most payments in one transaction.")
X(payment, prefetch, INT, 1000, 1, 2000, RESTART, "Deliveries the broker may hand to a payment lane ahead of its acknowledgements.")

X(cancel, lanes, INT, 1, 0, 16, RESTART, "Cancel lanes (threads) in this process, which work on order.cancel; 0: none here.")
X(cancel, batch_max, INT, 200, 1, 500, RELOAD, "Most cancellations in one transaction.")
X(cancel, prefetch, INT, 400, 1, 2000, RESTART, "Deliveries the broker may hand to a cancel lane ahead of its acknowledgements.")

X(release, lanes, INT, 1, 0, 16, RESTART,
  "Release lanes (threads) in this process, which close the orders that were not paid in time; 0: none here.")
X(release, batch_max, INT, 500, 1, 500, RELOAD, "Most orders closed in one transaction.")
X(release, prefetch, INT, 100, 2, 1000, RESTART,
  "Timers, of up to 500 orders each, that the broker may hand to a release lane ahead of its acknowledgements. Half of them are worked on at a time.")
X(release, sweep_interval, DURATION, 15000, 100, 3600000, RELOAD,
  "How often, by one process at a time, it is looked for orders whose timers were lost.")
X(release, sweep_grace, DURATION, 60000, 1000, 86400000, RELOAD,
  "How long an order may be overdue before the sweep closes it. Longer than timers may be on their way while all is well.")

X(retry, delays, DELAYS, "1s,5s,30s", 10, 86400000, RESTART,
  "How long a message that failed by its own fault waits before each further try; the number of delays is the number of retries. After the last one it is decided: dead letter, stock given back. Changing it needs `orderctl topology apply`.")

X(relay, batch_max, INT, 200, 1, 1000, RELOAD, "Most local messages claimed or sent at once.")
X(relay, window, INT, 500, 1, 10000, RESTART, "Publications that may be unconfirmed at a time.")
X(relay, poll_interval, DURATION, 1000, 50, 60000, RELOAD,
  "How often the local message table is searched for due rows. Rows of orderd's own are sent at once; this finds what a crash left and what other producers wrote.")
X(relay, lease, DURATION, 30000, 2000, 600000, RELOAD,
  "How long a row belongs to the process that took it. A crash delays its rows by this much.")
X(relay, retry_min, DURATION, 1000, 10, 600000, RELOAD, "Wait after a row's first failure of its own; it doubles.")
X(relay, retry_max, DURATION, 300000, 100, 86400000, RELOAD, "Longest wait between two attempts of one row.")
X(relay, attempts_max, INT, 20, 1, 1000, RELOAD,
  "Failures of its own after which a row is quarantined: kept, with an alarm, until `orderctl outbox retry`. While its target is away a row only waits.")
X(relay, keep_sent, DURATION, 86400000, 0, 2592000000, RELOAD, "How long sent rows are kept before they are deleted.")
X(relay, clean_interval, DURATION, 30000, 100, 3600000, RELOAD,
  "How often sent rows are deleted, in small batches, by whichever process is elected.")

X(events, enabled, BOOL, 1, 0, 1, RELOAD,
  "Tell every change of an order on the exchange order.event (docs/events.md). What was written before it is switched off is still told.")
/* the walk */
X(walk, enabled, BOOL, 1, 0, 1, RELOAD,
  "Whether this process walks activities: finds what crashes left half-way and completes it. Switched off everywhere, orders whose web tier died after its deduct are never created.")
X(walk, interval, DURATION, 60000, 100, 3600000, RELOAD,
  "How often each activity is walked, by one process at a time. One whose walk takes long rests as long again.")
X(walk, page, INT, 500, 1, 1000, RELOAD, "Orders that are looked at in one step.")
X(walk, pause, DURATION, 20, 0, 1000, RELOAD, "Rest between two steps, so that the sale does not feel the walk.")
X(walk, in_flight, DURATION, 120000, 100, 86400000, RELOAD,
  "How long an order may be on its way from its deduct to its row, or from its row to Redis, before the walk asks why. Longer than a web tier goes on trying to publish; all retry.delays come on top.")
X(walk, recover_backoff, DURATION, 600000, 100, 86400000, RELOAD,
  "How long the walk waits for the row after it has sent a lost message again; doubles each time. After three times without a row the order is given up: rejected, stock given back, dead letter.")
X(activity, calendar_interval, DURATION, 1000, 50, 60000, RELOAD,
  "How often it is looked whether a sale begins or ends, and whether Redis and the gates know.")

/* the survey */
X(survey, interval, DURATION, 1000, 100, 10000, RELOAD,
  "How often one process, elected among all, reads how the whole sale stands: what GET /sale, the gauges of /metrics and orderctl top show.")
X(survey, lost_after, DURATION, 5000, 2000, 600000, RELOAD,
  "A replica that has not said for so long that it is there counts as lost.")
X(survey, keep_lost, DURATION, 86400000, 2000, 31536000000, RELOAD,
  "How long a lost replica is shown, unless it comes back. One that was stopped is gone at once.")

/* the admin endpoint */
X(admin, enabled, BOOL, 1, 0, 1, RESTART, "Answer HTTP: a live page at /, /sale, /metrics, /livez, /readyz, /status. GET and HEAD only, changes nothing.")
X(admin, host, STRING, "127.0.0.1", 1, 255, RESTART,
  "Address to listen on. Nobody is asked who they are there, so keep it on loopback or behind a firewall.")
X(admin, port, INT, 9470, 1, 65535, RESTART,
  "Port to listen on. A replica whose instance name is a number adds it: orderd@1 listens on 9471.")
X(admin, ready_grace, DURATION, 3000, 0, 60000, RELOAD,
  "How long a lane that could do its job may be without a server before /readyz says 503: longer than a reconnect.")

X(log, level, CHOICE, "info", 0, 0, RELOAD, "error|warning|info|debug: debug writes a line per order.")
X(log, format, CHOICE, "logfmt", 0, 0, RELOAD, "logfmt|json: One line per event on standard error, either way.")
X(log, priority_prefix, CHOICE, "auto", 0, 0, RELOAD,
  "auto|always|never: Puts the journal's <priority> before each line; auto does so when standard error is the journal.")
