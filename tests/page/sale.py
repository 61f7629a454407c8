"""The live page during a real sale: what drill_page goes on with, when two daemons run. Everything that it shows is compared
with what MySQL, orderctl and the processes themselves say.

  sale.py BIN CONF SCHEMA ACTIVITY UNITS TITLE PICTURES PORT PID_1 PID_2      (PORT is that of replica 1)
"""
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, find  # noqa: E402

binaries, conf, schema, activity, units, title, pictures, port, *pids = sys.argv[1:]
units, pids = int(units), [int(p) for p in pids]
url = f"http://127.0.0.1:{port}/"
b = None


def check(good, *words):
    if not good:
        raise AssertionError(" ".join(str(w) for w in words) + "\n" + b.text("body"))


def until(seconds, what, condition):
    """Seconds of an idle machine; a busy one takes several times as long."""
    end = time.monotonic() + 3 * seconds
    while not condition():
        check(time.monotonic() < end, "waited in vain:", what)
        b.pump(0.1)


def run(program, *words):
    """Its output. The page goes on meanwhile, since the browser does."""
    return subprocess.run([os.path.join(binaries, program), words[0], "-c", conf, *words[1:]] if program == "orderload"
                          else [os.path.join(binaries, program), "-q", "-c", conf, *words],
                          check=True, capture_output=True, text=True).stdout


def sql(query):
    return int(subprocess.run([os.environ["ORDERD_MARIADB"], "-N", schema, "-e", query], check=True, capture_output=True,
                              text=True).stdout)


def redis(command):
    with socket.create_connection((os.environ["ORDERD_KV_HOST"], int(os.environ["ORDERD_KV_PORT"]))) as s:
        s.sendall(f"{command}\r\nQUIT\r\n".encode())
        answer = b""
        while more := s.recv(4096):
            answer += more
    check(answer.startswith(b":"), command, answer)


def stack(verb):
    subprocess.run([os.path.join(os.environ["ORDERD_SOURCE"], "scripts", "stack"), verb, os.environ["ORDERD_STACK_DIR"], "mariadb"],
                   check=True, stdout=subprocess.DEVNULL)


def tile(name):
    value = b.js(f"""[...document.querySelectorAll('.tile')].find((t) => t.querySelector('dt').innerText == {json.dumps(name)})
        .querySelector('.value').innerText""")
    return value.replace("\u2009", "").replace(",", "")


def line():
    """left, held, sold as the page has them; None: one of them is not known."""
    words = b.text(".conservation .sum").replace(",", "").split()
    try:
        return tuple(int(words[words.index(name) - 1]) for name in ("left", "held", "sold"))
    except ValueError:
        return None


def live():
    return sql(f"SELECT COALESCE(SUM(quantity), 0) FROM orders WHERE activity_id = {activity} AND status IN ('pending', 'paid')")


def quiet():
    check(b.complaints == [], "the browser complains:", b.complaints)
    check(all(r.startswith(url) for r in b.requests), "it asked somebody else:", b.requests)


# ---- what happens, in this order ----

def before_anybody_buys():
    b.open(url)
    until(40, "it is live, with both replicas", lambda: b.js("document.body?.dataset.state") == "live" and tile("Replicas") == "2/2")
    until(40, "the books agree", lambda: line() == (units, 0, 0) and tile("Drift") == "0")
    check(b.texts(".title") == [title], "the title is", b.texts(".title"))
    check(b.js("window.hit") is None and b.js("document.querySelectorAll('.title *').length") == 0, "the title is not text")
    check(tile("Sale") == "running" and tile("Stock left") == str(units))
    check(b.texts("#dependencies .pill") == ["up"] * 3, b.texts("#dependencies"))


def buyers_come():
    peak = [0.0]

    def look():
        if b.js("document.body.dataset.state") == "live":
            peak[0] = max(peak[0], float(tile("Orders per second")))
        return load.poll() is not None

    load = subprocess.Popen([os.path.join(binaries, "orderload"), "sale", "-c", conf, "--activity", activity, "--buyers", "600",
                             "--rate", "150", "--malformed", "5", "--duplicates", "10", "--brief"], stdout=subprocess.DEVNULL)
    until(90, "the sale is over", look)
    check(load.returncode == 0, "orderload ended with", load.returncode)
    check(peak[0] > 0, "no order was ever seen coming")
    sold = live()
    check(0 < sold <= 600, sold)
    until(40, "left and held are those of MySQL", lambda: line() == (units - sold, sold, 0))
    until(40, "drift is 0", lambda: tile("Drift") == "0" and b.text(".verdict") == "adds up, drift 0")
    check(int(tile("Stock left")) == units - sold)
    b.screenshot(os.path.join(pictures, "sale.png"))


def letters_are_drained():
    run("orderctl", "dlq", "drain")
    opened = sql("SELECT COUNT(*) FROM dead_letter WHERE state = 'open'")
    check(opened >= 10, opened)
    until(40, "they are counted", lambda: tile("Dead letters") == str(opened))
    b.pump(1.2)
    rows = b.js("[...document.querySelectorAll('#failures tbody tr')].map((r) => [r.cells[1].innerText, r.querySelector('code').innerText])")
    check(sum(int(n) for n, _ in rows) == opened, rows, "are not", opened)
    for n, command in rows:  # as they stand there
        program, *words = shlex.split(command)
        listed = run(program, "--json", *words, "--limit", "0").splitlines()
        check(len(listed) == int(n), command, "lists", len(listed), "not", n)


def units_vanish():
    redis(f"DECRBY sk:{{{activity}:0}}:stock 3")
    until(40, "the drift is seen", lambda: tile("Drift") == "3")
    until(40, "it is an alarm", lambda: b.js("document.querySelector('.verdict').dataset.level") == "bad")
    check(any(f"orderctl reconcile --activity {activity}" in t for t in b.texts("#concerns li")), b.texts("#concerns li"))
    b.screenshot(os.path.join(pictures, "sale-drift.png"))
    redis(f"INCRBY sk:{{{activity}:0}}:stock 3")
    until(40, "it is over", lambda: tile("Drift") == "0" and b.text(".verdict") == "adds up, drift 0")


def the_database_is_away():
    """The page goes on, says so, and shows of MySQL's numbers none."""
    stack("kill")
    until(40, "it is said to be down", lambda: any(t.startswith("mysql is down: ") for t in b.texts("#concerns li")))
    until(40, "its numbers are not shown", lambda: tile("Drift") == tile("Replicas") == "\u2013" and "MySQL: \u2013 available + \u2013 in live" in b.text(".conservation"))
    check(b.js("document.body.dataset.state") == "live" and b.js("document.title").startswith("\u26a0"))
    b.screenshot(os.path.join(pictures, "sale-mysql.png"))
    stack("up")
    until(40, "it is up again", lambda: tile("Drift") == "0" and tile("Replicas") == "2/2" and b.texts("#concerns li") == [])


def a_replica_dies():
    os.kill(pids[1], signal.SIGKILL)
    until(40, "it is lost", lambda: tile("Replicas") == "1/2" and any("Replica 2 is lost" in t for t in b.texts("#concerns li")))
    quiet()


def this_one_is_stopped_and_comes_back():
    os.kill(pids[0], signal.SIGTERM)
    until(40, "the page says so", lambda: b.js("document.body.dataset.state") == "stale" and "cannot be reached" in b.text("#notice"))
    check(b.js("getComputedStyle(document.querySelector('#numbers')).opacity") < "0.6")
    check(b.js("document.title").endswith("no news \u00b7 orderd"))
    orderd = subprocess.Popen([os.path.join(binaries, "orderd"), "-c", conf, "-i", "1"], stderr=subprocess.DEVNULL)
    try:
        until(40, "it is live again", lambda: b.js("document.body.dataset.state") == "live" and tile("Replicas") in ("1/2", "2/2"))
        until(40, "its numbers are those of MySQL", lambda: line() == (units - live(), live(), 0))
    finally:
        orderd.kill()
        orderd.wait()


os.makedirs(pictures, exist_ok=True)
b = Browser(find())
try:
    b.show()
    for step in (before_anybody_buys, buyers_come, letters_are_drained, units_vanish, the_database_is_away, a_replica_dies,
                 this_one_is_stopped_and_comes_back):
        try:
            step()
        except AssertionError as e:
            sys.exit(f"{step.__name__}: {e}")
finally:
    b.close()
