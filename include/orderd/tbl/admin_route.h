/* What the admin endpoint serves: X(id, "path", "content type", "what it is"). id names the function admin_<id>.
 * No guard. */
X(metrics, "/metrics", "text/plain; version=0.0.4; charset=utf-8", "for Prometheus")
