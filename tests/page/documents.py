"""Answers of /sale and /sale/history as the daemon gives them, for tests of the page: one of a calm sale, to be altered."""
import math
import time

HOSTILE = ["<script>window.hit = 1</script>", "\"><img src=x onerror=\"window.hit = 1\">", "</title><b>bold</b> &amp; 'x' \u202eabc"]


def now():
    return int(time.time() * 1000)


def activity(number=1001, title="Phone 15 Pro, 256 GB", state="running", total=1000, left=612, held=268, sold=120, flight=4):
    at = now()
    starts, ends = {"running": (-600, 6600), "scheduled": (3600, 7200), "ended": (-7200, -60)}[state]
    return {
        "id": number, "title": title, "state": state, "starts_at": at + starts * 1000, "ends_at": at + ends * 1000,
        "total": total, "left": left, "rate": 4.5 if state == "running" else 0,
        "sold_out_s": left / 4.5 if state == "running" and left else None,
        "held_unpaid": held - flight, "due_soon": 31, "overdue": 0, "paid": sold, "closed": 17,
        "shards": {"count": 4, "missing": 0, "damaged": 0, "paused": 0},
        "conservation": {"left": left, "held": held, "sold": sold, "gone": 0, "redis_off": 0, "mysql_available": left + flight,
                         "mysql_live": held + sold - flight, "mysql_off": 0, "in_flight": flight, "drift": 0},
        "reconcile": {"at": at - 125000, "verdict": "clean"},
    }


def replica(name, state="ready", why=""):
    return {"instance": name, "host": "sale-" + name, "pid": 4000 + int(name), "version": "0.1.0", "state": state, "why": why,
            "started_at": now() - 7384000, "seen_at": now() - (45000 if state == "lost" else 300),
            "admin": f"127.0.0.1:{9470 + int(name)}"}


def sale(*activities):
    return {
        "v": 1, "at": now(), "instance": "1", "interval_ms": 1000, "replicas_at": None,
        "replicas": [replica("1"), replica("2")],
        "rates": {"received": 214, "created": 208, "duplicate": 5, "retried": 0, "dead_lettered": 0, "rejected": 1, "paid": 62,
                  "closed": 3, "units_returned": 3},
        "latency": {"p50_us": 1290, "p99_us": 4870},
        "queues": [{"name": "order.create", "ready": 1204, "consumers": 4}, {"name": "order.paid", "ready": 0, "consumers": 2},
                   {"name": "order.cancel", "ready": 0, "consumers": 2}, {"name": "order.unpaid", "ready": 3, "consumers": 2},
                   {"name": "order.dead", "ready": 2, "consumers": 0}],
        "backlog": {"messages": 1207, "drain_s": 5.8},
        "relay": {"pending": 12, "quarantined": 0, "oldest_ms": 340},
        "dead_letters": {"queue": 2, "open": 9, "by_reason": [
            {"reason": "stock_short", "open": 6, "command": "orderctl dlq list --state open --reason stock_short"},
            {"reason": "body_not_json", "open": 3, "command": "orderctl dlq list --state open --reason body_not_json"}]},
        "activities_left_out": 0, "activities": list(activities) or [activity()],
        "dependencies": [{"name": "mysql", "up": True, "why": ""}, {"name": "rabbitmq", "up": True, "why": ""},
                         {"name": "redis", "up": True, "why": ""}],
    }


def history(doc, minutes=10):
    """A past that ends in this document: stock goes slowly, then fast."""
    points, steps = [], minutes * 12
    for i in range(steps):
        share = 1 / (1 + math.exp(-10 * (i / steps - 0.6))) if steps else 0
        points.append({
            "at": doc["at"] - (steps - i) * 5000, "created": round(230 * math.exp(-((i / steps - 0.7) ** 2) * 30)),
            "backlog": round(3200 * math.exp(-((i / steps - 0.75) ** 2) * 80)),
            "activities": [{"id": a["id"], "left": round(a["total"] - (a["total"] - (a["left"] or 0)) * share),
                            "sold": round((a["conservation"]["mysql_live"] or 0) * max(0, share - 0.03))} for a in doc["activities"]]})
    return {"step_ms": 5000, "points": points}
