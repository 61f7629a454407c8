/* What the admin endpoint serves: X(id, "path", "content type", "what it is"). id names the function admin_<id>.
 * No guard. */
X(metrics, "/metrics", "text/plain; version=0.0.4; charset=utf-8", "for Prometheus")
X(livez, "/livez", "text/plain; charset=utf-8", "200 while its threads go round; 503: restart it")
X(readyz, "/readyz", "text/plain; charset=utf-8", "200 while every lane can do its job; 503 with the reasons; ?verbose: a line for each thread")
X(status, "/status", "application/json", "all of it as one JSON object")
