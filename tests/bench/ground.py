"""The private servers of scripts/stack: SQL, broker, processor time of each process. Settings come from the environment
that tests/with-stack makes."""
import os
import subprocess
import time

import amqp

ENV = os.environ
TICKS = os.sysconf('SC_CLK_TCK')


class Failed(Exception):
    """A figure that cannot be trusted: the run ends with this sentence."""


def run(*words, **more):
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(w) for w in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    if done.returncode:
        raise Failed(f'{os.path.basename(str(words[0]))} {words[1] if len(words) > 1 else ""}: exit code '
                     f'{done.returncode}: {done.stderr.strip()[-400:]}')
    return done.stdout


def sql(text, schema=''):
    """Rows, as lists of text."""
    out = run(ENV['ORDERD_MARIADB'], '-BN', *([schema] if schema else []), '-e', text)
    return [line.split('\t') for line in out.splitlines()]


def number(text, schema=''):
    rows = sql(text, schema)
    return float(rows[0][0]) if rows and rows[0][0] != 'NULL' else 0.0


def until(what, test, seconds, pause=0.05):
    end = time.monotonic() + seconds
    while not test():
        if time.monotonic() > end:
            raise Failed(f'waited {seconds} s in vain: {what}')
        time.sleep(pause)


class Broker:
    """One connection to one virtual host."""

    def __init__(self, vhost):
        with open(ENV['ORDERD_MQ_PASSWORD_FILE'], encoding='utf-8') as file:
            password = file.readline().strip()
        self.connection = amqp.Connection(f"{ENV['ORDERD_MQ_HOST']}:{ENV['ORDERD_MQ_PORT']}", ENV['ORDERD_MQ_USER'],
                                          password, virtual_host=vhost, confirm_publish=True)
        self.connection.connect()
        self.channel = self.connection.channel()

    def ready(self, queue):
        return self.channel.queue_declare(queue, passive=True).message_count

    def close(self):
        self.connection.close()


def make_vhost(name):
    ctl = ENV['ORDERD_RABBITMQCTL']
    if name in run(ctl, '-q', 'list_vhosts').split():
        run(ctl, '-q', 'delete_vhost', name)
    run(ctl, '-q', 'add_vhost', name)
    run(ctl, '-q', 'set_permissions', '-p', name, ENV['ORDERD_MQ_USER'], '.*', '.*', '.*')


def drop_vhost(name):
    run(ENV['ORDERD_RABBITMQCTL'], '-q', 'delete_vhost', name)


def _stat(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
        return file.read().rsplit(')', 1)[1].split()


def _used(pid):
    try:
        return sum(map(int, _stat(pid)[11:13])) / TICKS
    except OSError:
        return 0.0


class Clock:
    """Time and processor seconds since it was made: of the three servers, of some processes of ours, of all others."""

    def __init__(self, ours=()):
        self.ours = list(ours)
        self.first = self._read()

    def _read(self):
        with open('/proc/stat', encoding='ascii') as file:
            cpu = list(map(int, file.readline().split()[1:9]))
        return {'seconds': time.monotonic(), 'mysql': _used(ENV['ORDERD_DB_PID']), 'broker': _used(ENV['ORDERD_MQ_PID']),
                'redis': _used(ENV['ORDERD_KV_PID']), 'daemon': sum(map(_used, self.ours)),
                'all': (sum(cpu) - cpu[3] - cpu[4] - cpu[7]) / TICKS, 'steal': cpu[7] / TICKS}

    def spent(self):
        now = self._read()
        spent = {name: now[name] - self.first[name] for name in now}
        spent['rest'] = max(0.0, spent.pop('all') - sum(spent[n] for n in ('mysql', 'broker', 'redis', 'daemon')))
        return spent


def settle(seconds=30):
    """Waits until the servers have put away what they were given: a queue that was just filled is written and compacted
    for some seconds, and a drain that begins meanwhile took twice the broker's time here."""
    for _ in range(seconds):
        clock = Clock()
        time.sleep(1)
        spent = clock.spent()
        if max(spent[who] for who in ('mysql', 'broker', 'redis')) < 0.1 * spent['seconds']:
            return


def memory_peak_mib(pid):
    with open(f'/proc/{pid}/status', encoding='ascii', errors='replace') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmHWM')) / 1024


def machine():
    """What the figures were measured on."""
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        model = next((line.split(': ')[1].strip() for line in file if line.startswith('model name')), 'unknown')
    path = os.path.join(ENV.get('ORDERD_STACK_DIR', '.'), 'bench.sync')
    taken = []
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    for _ in range(300):
        os.write(fd, b'x' * 512)
        began = time.perf_counter()
        os.fdatasync(fd)
        taken.append((time.perf_counter() - began) * 1e6)
    os.close(fd)
    os.unlink(path)
    taken.sort()
    began = time.perf_counter()
    sum(range(10_000_000))
    return {'cores': os.cpu_count(), 'model': model, 'fdatasync_p50_us': round(taken[150]),
            'fdatasync_p99_us': round(taken[297]), 'fixed_loop_ms': round((time.perf_counter() - began) * 1e3),
            'load': round(os.getloadavg()[0], 1)}


def versions():
    rabbit = run(ENV['ORDERD_RABBITMQCTL'], '-q', 'version').split()
    return {'mysql': sql('SELECT VERSION()')[0][0], 'rabbitmq': rabbit[-1] if rabbit else 'unknown',
            'redis': next((w[2:] for w in run('redis-server', '--version').split() if w.startswith('v=')), 'unknown')}
