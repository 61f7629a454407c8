/* What `orderctl doctor` looks at:
 *
 *   X(ID, "server.aspect", "what to do where it is not as it should be")
 *
 * The sentence about what was found comes with the finding. No guard: included once per use. */
X(CONFIG_FILE, "config.file", "let only its owner write it: chmod go-w")
X(CONFIG_SECRET, "config.secret", "let only the account that runs orderd read it: chmod 0400, or a systemd credential")
X(CONFIG_CERTIFICATE, "config.certificate", "let only its owner write it (chmod go-w), and renew it before it ends")

X(ADMIN_HOST, "admin.host",
  "see that only those reach it who may read it: admin.host = \"127.0.0.1\", a firewall, or a proxy with a login before it")

X(MYSQL_SERVER, "mysql.server", "see that it is up, and that the group mysql of the configuration is right")
X(MYSQL_TLS, "mysql.tls", "set mysql.tls to \"verify\", with mysql.tls_ca_file; renew the server's certificate before it ends")
X(MYSQL_WRITABLE, "mysql.writable", "name the primary in mysql.host, or it and its replicas in mysql.hosts")
X(MYSQL_HOSTS, "mysql.hosts", "see that every server of mysql.hosts is up, replicates, and is as durable as the primary; see docs/primary.md")
X(MYSQL_SEMI_SYNC, "mysql.semi_sync", "switch semi-synchronous replication on at the primary and its replicas; see docs/primary.md")
X(MYSQL_DURABILITY, "mysql.durability", "set it to 1 in the server's own configuration, and now with SET GLOBAL")
X(MYSQL_SQL_MODE, "mysql.sql_mode",
  "add STRICT_TRANS_TABLES to the server's sql_mode, or see that who writes local messages sets it")
X(MYSQL_SCHEMA, "mysql.schema", "migrations are applied by `orderctl migrate up`, and shown by `orderctl migrate status`")
X(MYSQL_PRIVILEGE, "mysql.privilege", "GRANT it to the account of the group mysql: docs/accounts/mysql-2-rights.sql")
X(MYSQL_CLOCK, "mysql.clock", "let both machines follow one time server")

X(REDIS_SERVER, "redis.server", "see that it is up, and that the group redis of the configuration is right")
X(REDIS_TLS, "redis.tls", "set redis.tls to \"verify\", with redis.tls_ca_file; renew the server's certificate before it ends")
X(REDIS_VERSION, "redis.version", "upgrade it to Redis 7.0, or any Valkey")
X(REDIS_ROLE, "redis.role", "name the primary in redis.host, or let Sentinels find it")
X(REDIS_SENTINEL, "redis.sentinel", "see that all Sentinels of redis.nodes are up, at least three on different machines, and agree")
X(REDIS_FENCE, "redis.fence",
  "set min-replicas-to-write to 1 and min-replicas-max-lag to 10, so that a primary that is cut off stops taking writes")
X(REDIS_CLUSTER, "redis.cluster", 
  "set redis.mode to \"cluster\"; let every slot have a server, every server a replica, and one that is lost not stop the others: cluster-require-full-coverage no")
X(REDIS_EVICTION, "redis.eviction", "set maxmemory-policy to noeviction: CONFIG SET, and in its own configuration")
X(REDIS_MEMORY, "redis.memory", "raise maxmemory before the next preheat, or remove what is not orderd's")
X(REDIS_PERSISTENCE, "redis.persistence",
  "set appendonly yes and appendfsync everysec; see its log and its disk where writing fails")
X(REDIS_SCRIPT, "redis.script", "let the account of the group redis run EVAL, EVALSHA and SCRIPT LOAD: docs/accounts/redis.acl")
X(REDIS_CLOCK, "redis.clock", "let both machines follow one time server")

X(BROKER_SERVER, "broker.server", "see that it is up, and that the group broker of the configuration is right")
X(BROKER_HOSTS, "broker.hosts",
  "see that all are up and of one cluster, three nodes at least (`rabbitmqctl cluster_status`), and give it a name "
  "(`rabbitmqctl set_cluster_name`)")
X(BROKER_TLS, "broker.tls",
  "set broker.tls to \"verify\", with broker.tls_ca_file; renew the server's certificate before it ends")
X(BROKER_VERSION, "broker.version", "orderd is made for quorum queues of RabbitMQ 3.10 to 4.3")
X(BROKER_TOPOLOGY, "broker.topology",
  "`orderctl topology apply` makes what is missing; what is different must be drained, deleted and made again")
X(BROKER_CREATE_QUEUES, "broker.create_queues",
  "see that an orderd with this create.queues runs; delete one that is not used any more when it is empty and no web "
  "tier publishes to it, the highest number first")
X(BROKER_DELAY_QUEUE, "broker.delay_queue",
  "`orderctl topology apply` makes what is missing; what is different must be deleted while it is empty")
X(BROKER_CONSUMER_TIMEOUT, "broker.timeout",
  "keep create.hold_max at least 5 minutes under the broker's consumer_timeout (AMQP does not show it: "
  "`rabbitmqctl environment`)")
X(BROKER_POLICY, "broker.policy",
  "see that no policy of `rabbitmqctl list_policies` sets max-length, message-ttl or expires on order.* (AMQP does not "
  "show policies)")

X(CLOCKS, "clocks", "let the machines of MySQL and Redis follow one time server: a sale begins by both clocks")
