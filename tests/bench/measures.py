"""What is measured. Each measure is a function of one Bench and says row by row what it found; a row has a name, its
settings and its figures. Rows with the same name and settings are repetitions, of which report.py takes the median."""
import json
import os
import signal
import time

from ground import ENV, Clock, Failed, number, run, settle, sql, until
from sale import FIRST_ACTIVITY, QUEUE, Sale

LIMIT = os.path.join(ENV["ORDERD_BUILD"], "tests/bench/bench_limit")
LUA = os.path.join(ENV['ORDERD_SOURCE'], 'src/domain/stock/deduct.lua')


class Bench:
    """How much is done, and what was found so far."""

    def __init__(self, orders, quick, say):
        self.orders, self.quick, self.say = orders, quick, say
        self.rows = []

    def row(self, name, settings, **figures):
        row = {'name': name, 'settings': settings, 'figures': {k: v for k, v in figures.items() if v is not None}}
        self.rows.append(row)
        self.say(row)

    def found(self, name, figure):
        """All values of one figure so far."""
        return [r['figures'][figure] for r in self.rows if r['name'] == name and figure in r['figures']]

    def best(self, name, figure='rate'):
        return max(self.found(name, figure), default=None)


def limit_program(*words, schema='', vhost=None):
    env = dict(ENV, BENCH_SCHEMA=schema)
    if vhost:
        env['BENCH_VHOST'] = vhost
    return [json.loads(line) for line in run(LIMIT, *words, env=env).splitlines()]


def lanes_text(lanes, processes, batch, queue_type='quorum'):
    return f'{processes} × {lanes} lanes, batch {batch}, {queue_type}'


def create_conf(lanes=2, batch=500, more=''):
    prefetch = max(2, min(2000, 2 * batch)) if batch > 1 else 100
    return f'create: {{ lanes = {lanes}; batch_max = {batch}; prefetch = {prefetch}; }};\n{more}'


# ---- 1. what the stores allow

def limit(bench):
    n = bench.orders
    with Sale('limit', conf=create_conf()) as sale:
        for batch, threads in ((500, 2), (1, 8)):
            count = n if batch > 1 else n // 20
            out = limit_program('insert', count, batch, threads, schema=sale.name)[0]
            bench.row('limit insert', f'{threads} threads, batch {batch}', rate=out['rate'])
        for queue_type in 'quorum', 'classic':
            for out in limit_program('queue', n, queue_type, 1000, vhost=sale.name):
                bench.row(f"limit {out['what']}", queue_type, rate=out['rate'])
        out = limit_program('script', LUA, FIRST_ACTIVITY, n, 50)[0]
        bench.row('limit deduct', '1 shard, 50 in flight', rate=out['rate'])
        pipe(bench, sale)


def pipe(bench, sale):
    sale.fill(bench.orders)
    settle()
    clock = Clock()
    out = limit_program('pipe', QUEUE, bench.orders, 500, 2, schema=sale.name, vhost=sale.name)[0]
    spent = clock.spent()
    rows = number('SELECT COUNT(DISTINCT order_no) FROM bench_order', sale.name)
    if rows != bench.orders or sale.waiting():
        raise Failed(f'the bare pipeline made {rows} rows of {bench.orders} messages')
    bench.row('bare pipeline', '2 threads, batch 500, quorum', rate=out['rate'], mysql_cores=spent['mysql'] / spent['seconds'],
              broker_cores=spent['broker'] / spent['seconds'])


# ---- 2. orderd draining, 3. one message at a time

def drained(bench, name, settings, sale, count, **options):
    sale.fill(count)
    got = sale.drain(count, **options)
    sale.check(count)
    spent = got['spent']
    per_thousand = {f'{who}_cpu_s': spent[who] * 1000 / count for who in ('daemon', 'mysql', 'broker', 'redis')}
    whole = sum(per_thousand.values())
    bench.row(name, settings, rate=got['rate'], created_s=got['created_s'], sent_s=got['sent_s'], rss_mib=got['rss_mib'],
              daemon_share=per_thousand['daemon_cpu_s'] / whole if whole else None, **per_thousand)
    return got


def drain_once(bench, name, count, lanes=2, processes=1, batch=500, queue_type='quorum', more=''):
    with Sale('drain', queue_type=queue_type, conf=create_conf(lanes, batch, more)) as sale:
        drained(bench, name, lanes_text(lanes, processes, batch, queue_type), sale, count, processes=processes)


def drain(bench):
    n = bench.orders
    grid = [(2, 1, 500, 'quorum')]
    if not bench.quick:
        grid = [(lanes, 1, 500, 'quorum') for lanes in (1, 2, 4)] + [(2, processes, 500, 'quorum') for processes in (2, 4)]
        grid += [(4, 1, 1000, 'quorum'), (2, 1, 500, 'classic')]
    for lanes, processes, size, queue_type in grid:
        drain_once(bench, 'drain', n, lanes, processes, size, queue_type)


def batch(bench):
    """Throughput against batch size; with 1 it is the usual worker."""
    for size in (10, 500) if bench.quick else (2, 5, 10, 50, 100, 200, 1000, 2000):
        drain_once(bench, 'batch', bench.orders if size >= 50 else bench.orders // 10, batch=size)


def single(bench):
    """One message a transaction; more lanes so that it is not the round trips alone."""
    for lanes in (8,) if bench.quick else (2, 8, 32):
        drain_once(bench, 'single', max(2000, bench.orders // 20), lanes=lanes, batch=1)


# ---- 4. latency

def latency_at(bench, sale, rate, settings, name='latency'):
    seconds = 5 if bench.quick else 20
    sale.users += 1
    report = sale.load('rate', '--activity', FIRST_ACTIVITY, '--rate', rate, '--seconds', seconds, '--users-from', sale.users)
    sale.users += int(rate * seconds) + 1
    facts = report.get('facts', report)
    made = facts.get('rate_made')
    bench.row(name, settings, asked=rate, made=made, p50_ms=facts['row_p50_ms'], p99_ms=facts['row_p99_ms'],
              p999_ms=facts['row_p999_ms'])


def latency(bench):
    rates = (200, 5000) if bench.quick else (50, 200, 1000, 5000, 20000)
    for size in (500, 1):
        with Sale('latency', conf=create_conf(batch=size, lanes=2 if size > 1 else 8)) as sale:
            sale.start()
            until('it consumes', lambda: sale.broker.channel.queue_declare(QUEUE, passive=True).consumer_count > 0, 20)
            latency_at(bench, sale, 200, 'warm-up', name='warm-up')
            for rate in rates if size > 1 else (50, 200, 1000):
                latency_at(bench, sale, rate, f'batch {size}, {rate} orders/s')
            peak = bench.best('drain')
            if size > 1 and peak:
                latency_at(bench, sale, int(peak * 0.7), f'batch {size}, 70 % of the fastest drain')
            sale.stop_all()


# ---- 5. cost

def cost(bench):
    with Sale('cost', conf=create_conf()) as sale:
        sale.fill(bench.orders)
        sale.drain(bench.orders, count_allocations=True)
        with open(sale.allocations, encoding='utf-8') as file:
            counted = json.load(file)
        bench.row('cost', f'{bench.orders} orders drained and told', allocations=counted['calls'] / bench.orders,
                  allocated_bytes=counted['bytes'] / bench.orders)


# ---- 6. growth

def grow(sale, to):
    """Orders of another life, paid long ago: written by the server itself, a million at a time, without a daemon's help."""
    have = sale.orders()
    while have < to:
        step = min(1_000_000, to - have)
        sql(f"""SET SESSION unique_checks = 0; INSERT INTO orders(order_no, activity_id, user_id, user_seq, sku_id, quantity, amount,
                shard, epoch, status, reserved_at, expires_at, paid_at) SELECT CONCAT('old', {have} + seq), 7, {have} + seq, 0, 77, 1,
                9900, 0, 1, 'paid', NOW(3), NOW(6), NOW(6) FROM seq_1_to_{step}""", sale.name)
        have += step


def growth(bench):
    sizes = (0, 100_000) if bench.quick else (0, 1_000_000, 10_000_000)
    with Sale('growth', conf=create_conf()) as sale:
        for size in sizes:
            grow(sale, size)
            sale.fill(bench.orders)
            got = sale.drain(bench.orders)
            bench.row('growth', f'{size} orders in the table', rate=got['rate'], rss_mib=got['rss_mib'])
    if bench.quick:
        return
    with Sale('backlog', conf=create_conf()) as sale:
        drained(bench, 'backlog', '1000000 orders waiting', sale, 1_000_000)


# ---- 7. the rest of an order's life, and bad days

def release(bench):
    count = bench.orders // 2
    with Sale('release', conf=create_conf(more='release: { lanes = 0; sweep_interval = "10m"; };'), pay_timeout='2s') as sale:
        sale.fill(count)
        sale.drain(count)
        until('all are due', lambda: number('SELECT COUNT(*) FROM orders WHERE expires_at > NOW(6)', sale.name) == 0, 60)
        sale.configure(create_conf(more='release: { lanes = 1; sweep_interval = "10m"; };'))
        clock = Clock()
        sale.start()
        pending = "SELECT COUNT(*) FROM orders WHERE status = 'pending'"
        until('all are closed', lambda: sale.alive() or number(pending, sale.name) == 0, 300)
        closed = clock.spent()['seconds']
        until('all units are back', lambda: sale.alive() or sale.unsent() == 0, 300)
        back = clock.spent()['seconds']
        sale.stop_all()
        if number('SELECT SUM(total - available) FROM activity_stock', sale.name):
            raise Failed('units are missing after the release')
        bench.row('release', f'{count} due orders', seconds=closed, rate=count / closed, units_back_s=back)


def relay(bench):
    """Rows that other services left in the local message table."""
    count = bench.orders // 2
    with Sale('relay', conf=create_conf()) as sale:
        sql(f"""INSERT INTO local_message(message_key, topic, payload, due_at) SELECT CONCAT('event.order.created:bench', seq), 'event.order.created', '{{"v":1}}',
                UTC_TIMESTAMP(6) FROM seq_1_to_{count}""", sale.name)
        clock = Clock()
        sale.start()
        until('all are sent', lambda: sale.alive() or sale.unsent() == 0, 300)
        seconds = clock.spent()['seconds']
        sale.stop_all()
        bench.row('relay', f'{count} rows', seconds=seconds, rate=count / seconds)


def hot(bench):
    for activities in (1, 10) if bench.quick else (1, 100):
        share = bench.orders // activities
        with Sale('hot', activities=activities, conf=create_conf()) as sale:
            for i in range(activities):
                sale.fill(share, FIRST_ACTIVITY + i)
            got = sale.drain(share * activities)
            sale.check(share * activities)
            bench.row('activities', f'{activities} activities', rate=got['rate'])


def duplicates(bench):
    """Three of ten messages come twice."""
    from amqp import Message  # pylint: disable=import-outside-toplevel
    count = bench.orders
    doubled = count * 3 // 10
    with Sale('duplicates', conf=create_conf()) as sale:
        sale.fill(count)
        bodies, channel = [], sale.broker.connection.channel()
        while len(bodies) < doubled:
            got = channel.basic_get(QUEUE)
            bodies.append((got.body, got.properties))
        for body, properties in bodies:
            sale.broker.channel.basic_publish(Message(body, **properties), exchange='order', routing_key=QUEUE)
        channel.close()  # what was taken goes back
        until('all wait', lambda: sale.waiting() == count + doubled, 60)
        got = sale.drain(count)
        sale.check(count)
        bench.row('duplicates', f'{doubled} of {count} orders twice', rate=got['rate'])


def reconnect(bench):
    """The daemon is killed with full windows, and begins again: all of them come a second time."""
    count = bench.orders
    with Sale('reconnect', conf=create_conf()) as sale:
        sale.fill(count)
        sale.start()
        until('it is at work', lambda: sale.orders() > count // 10, 60, pause=0.01)
        sale.stop(1, signal.SIGKILL)
        done = sale.orders()
        time.sleep(1)
        began = time.monotonic()
        left = count - done
        first = number('SELECT MAX(id) FROM orders', sale.name)
        sale.start()
        until('the rest is there', lambda: sale.alive() or sale.orders() >= count, 300)
        seconds = time.monotonic() - began
        until('all local messages are sent', lambda: sale.alive() or sale.unsent() == 0, 300)
        sale.stop_all()
        sale.check(count)
        rate = number(f"""SELECT COUNT(*) / TIMESTAMPDIFF(MICROSECOND, MIN(created_at), MAX(created_at)) * 1e6 FROM orders
                          WHERE id > {first}""", sale.name)
        bench.row('reconnect', f'killed, {left} orders left', rate=rate, seconds=seconds)


MEASURES = [limit, drain, batch, single, latency, cost, growth, release, relay, hot, duplicates, reconnect]
