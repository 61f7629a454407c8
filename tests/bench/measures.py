"""What creating orders costs. Each measure is a function of one Bench and says row by row what it found; a row has a name,
its settings and its figures. Rows with the same name and settings are repetitions, of which report.py takes the median.
What comes later in an order's life, and bad days, are in life.py."""
import json
import os

from ground import ENV, Clock, Failed, number, run, settle, until
from sale import FIRST_ACTIVITY, QUEUE, Sale

LIMIT = os.path.join(ENV["ORDERD_BUILD"], "tests/bench/bench_limit")
LUA = os.path.join(ENV['ORDERD_SOURCE'], 'src/domain/stock/deduct.lua')


class Bench:
    """How much is done, and what was found so far. brief: only what a goal is about."""

    def __init__(self, orders, quick, say):
        self.orders, self.quick, self.say = orders, quick, say
        self.rows, self.brief = [], False

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
        if bench.brief:
            pipe(bench, sale)
            return
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
    if bench.brief:
        grid += [(4, 1, 1000, 'quorum')]
    elif not bench.quick:
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
    for lanes in (8,) if bench.quick else (2,) if bench.brief else (2, 8, 32):
        drain_once(bench, 'single', max(2000, bench.orders // 20), lanes=lanes, batch=1)


# ---- 4. latency

def latency_at(bench, sale, rate, settings, name='latency'):
    seconds = 5 if bench.quick else 10
    sale.users += 1
    report = sale.load('rate', '--activity', FIRST_ACTIVITY, '--rate', rate, '--seconds', seconds, '--users-from', sale.users)
    sale.users += int(rate * seconds) + 1
    facts = report.get('facts', report)
    bench.row(name, settings, asked=rate, p50_ms=facts['row_p50_ms'], p99_ms=facts['row_p99_ms'],
              p999_ms=facts['row_p999_ms'])


def started(sale):
    sale.start()
    until('it consumes', lambda: sale.consumers() > 0, 20)


def through(bench, sale):
    """As fast as it is published while it is drained, from the first purchase to the last row: the most that can go on
    where the load takes its share of the machine."""
    first = sale.users
    sale.fill(bench.orders)
    until('the queue is empty', lambda: sale.alive() or sale.waiting() == 0, 120)  # counting rows all the time would cost too much
    until('all are rows', lambda: number(f'SELECT COUNT(*) FROM orders WHERE user_id >= {first}', sale.name) == bench.orders, 120)
    rate = number(f"""SELECT COUNT(*) / TIMESTAMPDIFF(MICROSECOND, MIN(reserved_at), MAX(created_at)) * 1e6 FROM orders
                      WHERE user_id >= {first}""", sale.name)
    bench.row('through', 'published as fast as it goes, and drained', rate=rate)
    return rate


def latency(bench):
    """Against load. Of the fastest drain alone no share is asked: nobody published then."""
    grid = [(500, (50, 200, 1000, 5000, 10000, 20000)), (1, (50, 200, 500))]
    if bench.quick or bench.brief:
        grid = [(500, (200,)), (1, (200,))]
    for size, rates in grid:
        with Sale('latency', conf=create_conf(batch=size)) as sale:
            started(sale)
            latency_at(bench, sale, 200, 'warm-up', name='warm-up')
            for rate in rates:
                latency_at(bench, sale, rate, f'batch {size}, {rate} orders/s')
            if size > 1:
                most = through(bench, sale)
                settle()
                latency_at(bench, sale, int(most * 0.7), f'batch {size}, 70 % of what goes through')
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
