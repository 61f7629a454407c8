/* What the admin endpoint serves: X(id, "path", "content type", "what it is"). id names the function admin_<id>.
 * No guard. The live page is files: admin_file.h. */
X(metrics, "/metrics", "text/plain; version=0.0.4; charset=utf-8", "for Prometheus")
X(livez, "/livez", "text/plain; charset=utf-8", "200 while its threads go round; 503: restart it")
X(readyz, "/readyz", "text/plain; charset=utf-8", "200 while every lane and the relay can do their job; 503 with the reasons; ?verbose: a line for each thread")
X(sale, "/sale", "application/json", "the whole sale, over all replicas: stock, rates, backlog, dead letters, drift")
X(sale_history, "/sale/history", "application/json", "its stock, rate and backlog in the last 15 minutes")
X(status, "/status", "application/json", "all of it as one JSON object")
