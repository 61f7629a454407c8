"""What comes later in an order's life, bad days, and a table that has grown. As measures.py."""
import signal
import time

from ground import Clock, Failed, number, sql, until
from measures import create_conf, drained
from sale import FIRST_ACTIVITY, QUEUE, Sale


# ---- 6. growth

def grow(sale, to):
    """Orders of another activity, paid in the last 400 days: written by the server itself, a million at a time, without a daemon's help. Old
    orders are on disk: what the buffer pool still has to write is written before anything is measured."""
    have = int(number('SELECT COUNT(*) FROM orders', sale.name))
    while have < to:
        step = min(1_000_000, to - have)
        when = f"NOW(6) - INTERVAL 400 DAY + INTERVAL 3 * ({have} + seq) SECOND"
        sql(f"""SET SESSION unique_checks = 0; INSERT INTO orders(order_no, activity_id, user_id, user_seq, sku_id, quantity, amount,
                shard, epoch, status, reserved_at, created_at, expires_at, paid_at) SELECT CONCAT('old', {have} + seq), {FIRST_ACTIVITY - 1},
                {have} + seq, 0, 77, 1, 9900, 0, 1, 'paid', {when}, {when}, {when} + INTERVAL 15 MINUTE, {when} + INTERVAL 5 MINUTE
                FROM seq_1_to_{step}""", sale.name)
        have += step
    sql('FLUSH TABLES orders FOR EXPORT; UNLOCK TABLES; PURGE BINARY LOGS BEFORE NOW()', sale.name)


def growth(bench):
    """A sale for each size: in one that goes on, the walk also looks for the orders of the drains before."""
    sizes = (0, 100_000) if bench.quick else (0, 10_000_000) if bench.brief else (0, 1_000_000, 10_000_000)
    for size in sizes:
        with Sale('growth', conf=create_conf()) as sale:
            grow(sale, size)
            sale.fill(bench.orders)
            got = sale.drain(bench.orders)
            bench.row('growth', f'{size} orders in the table', rate=got['rate'], rss_mib=got['rss_mib'])
    if bench.quick or bench.brief:
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


def returns(bench):
    """A storm: all buyers of a sale that was sold out let their orders go at once, and their units go back to Redis."""
    units = bench.orders // 4
    no_release, release_too = (create_conf(more=f'release: {{ lanes = {n}; sweep_interval = "1s"; }};') for n in (0, 1))
    with Sale('returns', units=units, conf=no_release, pay_timeout='1s') as sale:
        sale.start()
        sale.load('sale', '--activity', FIRST_ACTIVITY, '--buyers', units)
        sale.stop_all()
        until('all are due', lambda: number('SELECT COUNT(*) FROM orders WHERE expires_at > NOW(6)', sale.name) == 0, 60)
        if sale.units_in_redis():
            raise Failed('the sale was not sold out')
        sale.configure(release_too)
        clock = Clock()
        sale.start()
        until('all units are in Redis again', lambda: sale.alive() or sale.units_in_redis() == units, 300)
        spent = clock.spent()
        until('all of it is told', lambda: sale.alive() or sale.unsent() == 0, 300)
        sale.stop_all()
        if number('SELECT SUM(total - available) FROM activity_stock', sale.name):
            raise Failed('units are missing after the storm')
        bench.row('returns', f'{units} orders closed, their units in Redis', seconds=spent['seconds'], rate=units / spent['seconds'])


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
        until('the broker has taken its deliveries back', lambda: sale.consumers() == 0, 60)
        done = sale.orders()
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
