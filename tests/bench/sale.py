"""A sale of the benchmark: a schema and a virtual host of its own, daemons, and orderload to fill and to ask."""
import json
import os
import signal
import subprocess
import tempfile
import time

from ground import ENV, Broker, Clock, Failed, drop_vhost, make_vhost, memory_peak_mib, number, run, settle, sql, until

BIN = os.path.join(ENV['ORDERD_BUILD'], 'src')
QUEUE = 'order.create'
FIRST_ACTIVITY = 1001
PATIENCE = 600  # s: a drain that takes longer hangs


class Sale:
    """Everything is made when it is entered and gone when it is left."""

    def __init__(self, name, units=50_000_000, activities=1, queue_type='quorum', conf='', pay_timeout='1h'):
        self.name, self.units, self.activities = f'orderd_bench_{name}', units, activities
        self.queue_type, self.pay_timeout = queue_type, pay_timeout
        self.folder = tempfile.TemporaryDirectory(prefix='orderd_bench.')
        self.conf = os.path.join(self.folder.name, 'orderd.conf')
        self.more = conf
        self.daemons, self.users, self.broker = {}, 1, None
        self.allocations = os.path.join(self.folder.name, 'allocations')

    def __enter__(self):
        try:
            make_vhost(self.name)
            sql(f'DROP DATABASE IF EXISTS {self.name}; CREATE DATABASE {self.name}')
            self.configure(self.more)
            self.ctl('migrate', 'up')
            self.ctl('topology', 'apply')
            for i in range(self.activities):
                self._open_activity(FIRST_ACTIVITY + i)
            self.broker = Broker(self.name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for instance in list(self.daemons):
            self.stop(instance, signal.SIGKILL)
        if self.broker:
            self.broker.close()
        try:
            for i in range(self.activities):
                run('redis-cli', '-h', ENV['ORDERD_KV_HOST'], '-p', ENV['ORDERD_KV_PORT'], 'UNLINK',
                    *(f'sk:{{{FIRST_ACTIVITY + i}:0}}:{key}' for key in ('stock', 'held', 'gone', 'buyers', 'meta')))
            sql(f'DROP DATABASE IF EXISTS {self.name}')
            drop_vhost(self.name)
        finally:
            self.folder.cleanup()

    def configure(self, more):
        """Anew, for daemons that start from now on. `more` is libconfig text."""
        with open(ENV['ORDERD_CONF'], encoding='utf-8') as file:
            base = file.read()
        base = base.replace('database = "orderd"', f'database = "{self.name}"')
        base = base.replace('vhost = "/";', f'vhost = "{self.name}"; queue_type = "{self.queue_type}";')
        with open(self.conf, 'w', encoding='utf-8') as file:
            file.write(base + '\n' + more + '\n')

    def _open_activity(self, number_):
        self.ctl('activity', 'create', '--id', number_, '--title', 'bench', '--sku', 77, '--price', 9900, '--currency', 'CNY',
                 '--stock', self.units, '--starts', 'now', '--ends', '+10h', '--pay-timeout', self.pay_timeout)
        self.ctl('activity', 'approve', number_)
        self.ctl('activity', 'preheat', number_)

    def ctl(self, *words):
        return run(f'{BIN}/orderctl', '-q', '-c', self.conf, *words)

    def load(self, command, *words):
        return json.loads(run(f'{BIN}/orderload', command, '-c', self.conf, *words, '--json'))

    # ---- messages and rows

    def fill(self, count, activity=FIRST_ACTIVITY):
        self.load('fill', count, '--activity', activity, '--users-from', self.users)
        self.users += count

    def orders(self):
        """Of one unit each; by the stock rows, since it is asked while they come: counting a grown table takes MySQL seconds."""
        return int(number('SELECT SUM(total - available) FROM activity_stock', self.name))

    def waiting(self):
        return self.broker.ready(QUEUE)

    def consumers(self):
        return self.broker.channel.queue_declare(QUEUE, passive=True).consumer_count

    def unsent(self):
        return int(number("SELECT COUNT(*) FROM local_message WHERE state <> 'sent'", self.name))

    def units_in_redis(self, activity=FIRST_ACTIVITY):
        return int(run('redis-cli', '-h', ENV['ORDERD_KV_HOST'], '-p', ENV['ORDERD_KV_PORT'], 'GET', f'sk:{{{activity}:0}}:stock'))

    def empty(self):
        """No orders, all stock there, nothing waiting: only with no daemon running."""
        sql('TRUNCATE orders; TRUNCATE local_message; UPDATE activity_stock SET available = total', self.name)
        for queue in (QUEUE, 'order.unpaid'):
            self.broker.channel.queue_purge(queue)

    def rate(self, first_user=1):
        """Orders a second from the first row to the last, by the database's clock."""
        return number(f"""SELECT COUNT(*) / GREATEST(TIMESTAMPDIFF(MICROSECOND, MIN(created_at), MAX(created_at)), 1) * 1e6
                          FROM orders WHERE activity_id >= {FIRST_ACTIVITY} AND user_id >= {first_user}""", self.name)

    def check(self, count):
        """The numbers of a figure must be right before it counts: orders, stock, one timer and one event for each."""
        got = sql("""SELECT COUNT(*), COUNT(DISTINCT order_no), (SELECT SUM(total - available) FROM activity_stock),
                     (SELECT SUM(JSON_LENGTH(CONVERT(payload USING utf8mb4), '$.orders')) FROM local_message WHERE topic LIKE 'order.unpaid%'),
                     (SELECT SUM(JSON_LENGTH(CONVERT(payload USING utf8mb4), '$.orders')) FROM local_message WHERE topic LIKE 'event.%') FROM orders""",
                  self.name)[0]
        if [int(float(n)) if n != 'NULL' else 0 for n in got] != [count] * 5:
            raise Failed(f'orders, different ones, units taken, timers and events are {got}, not {count} each')

    # ---- daemons

    def start(self, instance=1, count_allocations=False):
        env = dict(ENV)
        if count_allocations:
            env.update(LD_PRELOAD=os.path.join(ENV['ORDERD_BUILD'], 'tests/bench/libbench_alloc_count.so'),
                       ALLOC_COUNT=self.allocations)
        with open(os.path.join(self.folder.name, f'orderd.{instance}.log'), 'a', encoding='utf-8') as log:
            self.daemons[instance] = subprocess.Popen([f'{BIN}/orderd', '-c', self.conf, '-i', str(instance)], env=env,
                                                      stdout=log, stderr=log)

    def stop(self, instance=1, how=signal.SIGTERM):
        daemon = self.daemons.pop(instance)
        daemon.send_signal(how)
        try:
            daemon.wait(40)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
            raise Failed(f'orderd {instance} did not end') from None

    def stop_all(self):
        for instance in list(self.daemons):
            self.stop(instance)

    def last_words(self):
        words = []
        for name in sorted(os.listdir(self.folder.name)):
            if name.endswith('.log'):
                with open(os.path.join(self.folder.name, name), encoding='utf-8', errors='replace') as file:
                    words += file.readlines()[-8:]
        return ''.join(words)

    def alive(self):
        for instance, daemon in self.daemons.items():
            if daemon.poll() is not None:
                raise Failed(f'orderd {instance} ended by itself:\n{self.last_words()}')

    def drain(self, count, processes=1, relay_too=True, orders=None, count_allocations=False):
        """Takes what waits and says how fast, what it cost, and how long it was until all local messages were out."""
        first = self.users - count
        settle()
        want = (orders if orders is not None else count) + self.orders()
        for i in range(processes):
            self.start(i + 1, count_allocations)
        clock = Clock(d.pid for d in self.daemons.values())
        began = time.monotonic()
        until('the queue is empty', lambda: self.alive() or self.waiting() == 0, PATIENCE)
        until('all are rows', lambda: self.alive() or self.orders() >= want, PATIENCE)
        created = time.monotonic() - began
        if relay_too:
            until('all local messages are sent', lambda: self.alive() or self.unsent() == 0, PATIENCE)
        spent = clock.spent()
        peak = max(memory_peak_mib(d.pid) for d in self.daemons.values())
        self.stop_all()
        return {'rate': self.rate(first), 'created_s': created, 'sent_s': spent['seconds'], 'spent': spent, 'rss_mib': peak}
