/* The servers that a sale needs: X(DEPENDENCY, "name"). No guard: included once per use. */
X(MYSQL, "mysql")
X(RABBITMQ, "rabbitmq")
X(REDIS, "redis")
