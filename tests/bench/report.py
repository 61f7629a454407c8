"""Rows of measures.py as a table, as JSON, and as one picture. The figure of a row that was measured several times is the
median, with the least and the most beside it."""
import html
import math
import statistics

UNITS = {'rate': 'orders/s', 'seconds': 's', 'created_s': 's until all are rows', 'sent_s': 's until all is told', 'rss_mib': 'MiB',
         'p50_ms': 'p50 ms', 'p99_ms': 'p99 ms', 'p999_ms': 'p99.9 ms', 'daemon_cpu_s': 'orderd', 'mysql_cpu_s': 'MySQL',
         'broker_cpu_s': 'RabbitMQ', 'redis_cpu_s': 'Redis'}


def merged(rows):
    """One row for each name and settings, in the order of their first appearance."""
    groups = {}
    for row in rows:
        groups.setdefault((row['name'], row['settings']), []).append(row['figures'])
    out = []
    for (name, settings), list_ in groups.items():
        figures = {}
        for key in {k: None for figures_ in list_ for k in figures_}:
            values = [f[key] for f in list_ if f.get(key) is not None]
            if values:
                figures[key] = {'median': statistics.median(values), 'least': min(values), 'most': max(values)}
        out.append({'name': name, 'settings': settings, 'runs': len(list_), 'figures': figures})
    return out


def brief(value):
    """Three digits that mean something."""
    if value == 0 or not math.isfinite(value):
        return '0' if value == 0 else '–'
    if abs(value) >= 1000:
        return f'{value:,.0f}'
    return f'{value:.{max(0, 2 - int(math.floor(math.log10(abs(value)))))}f}'


def cell(row, key):
    figure = row['figures'].get(key)
    return brief(figure['median']) if figure else ''


def line(row):
    """As it is printed while the benchmark runs."""
    figures = ', '.join(f'{k} {brief(v)}' for k, v in row['figures'].items())
    return f"{row['name']:16} {row['settings']:40} {figures}"


SECTIONS = [
    ('What the stores allow', ('limit insert', 'limit publish', 'limit consume', 'limit deduct', 'bare pipeline'), ('rate',)),
    ('Draining what waits, all features on', ('drain', 'batch', 'single', 'activities', 'duplicates', 'reconnect', 'growth',
                                              'backlog'),
     ('rate', 'created_s', 'sent_s', 'rss_mib')),
    ('Processor seconds for 1,000 orders', ('drain', 'single'), ('daemon_cpu_s', 'mysql_cpu_s', 'broker_cpu_s', 'redis_cpu_s')),
    ('Published and drained at once', ('through',), ('rate',)),
    ('From publish to row', ('latency',), ('p50_ms', 'p99_ms', 'p999_ms')),
    ('Allocations of the daemon for one order', ('cost',), ('allocations', 'allocated_bytes')),
    ('The rest of an order’s life', ('release', 'relay', 'returns'), ('rate', 'seconds', 'units_back_s')),
]


def table(rows, names, keys):
    out = ['| what | settings | ' + ' | '.join(UNITS.get(k, k.replace('_', ' ')) for k in keys) + ' | least to most | runs |',
           '| --- | --- | ' + '---: | ' * len(keys) + '--- | ---: |']
    for row in rows:
        if row['name'] not in names or not any(k in row['figures'] for k in keys):
            continue
        first = row['figures'].get(keys[0])
        spread = f"{brief(first['least'])} to {brief(first['most'])}" if first and row['runs'] > 1 else ''
        out.append(f"| {row['name']} | {row['settings']} | " + ' | '.join(cell(row, k) for k in keys)
                   + f" | {spread} | {row['runs']} |")
    return out if len(out) > 2 else []


def best(rows, name, key='rate', settings=None):
    found = [r['figures'][key]['median'] for r in rows
             if r['name'] == name and key in r['figures'] and (settings is None or settings(r['settings']))]
    return max(found) if found else None


def figure_of(rows, name, key, settings):
    return next((r['figures'][key]['median'] for r in rows if r['name'] == name and settings(r['settings']) and key in r['figures']),
                None)


def goals(rows):
    """(what, figure or None, the limit as text, met or None)"""
    drain, bare, single = best(rows, 'drain'), best(rows, 'bare pipeline'), best(rows, 'single')
    slow = figure_of(rows, 'latency', 'p99_ms', lambda s: s.startswith('batch 1, 200'))
    quick = figure_of(rows, 'latency', 'p99_ms', lambda s: s.startswith('batch 500, 200'))
    loaded = figure_of(rows, 'latency', 'p99_ms', lambda s: '70 %' in s)
    empty = figure_of(rows, 'growth', 'rate', lambda s: s.startswith('0 '))
    full = figure_of(rows, 'growth', 'rate', lambda s: s.startswith('10000000 '))
    rss = max((r['figures']['rss_mib']['most'] for r in rows if 'rss_mib' in r['figures']), default=None)
    share = figure_of(rows, 'drain', 'daemon_share', lambda s: True)

    def over(a, b):
        return a / b if a is not None and b else None

    list_ = [('draining, of the bare pipeline', over(drain, bare), '≥ 0.7', lambda x: x >= 0.7),
             ('draining, times one message at a time', over(drain, single), '≥ 20', lambda x: x >= 20),
             ('p99 at 200 orders/s, of that with batch 1', over(quick, slow), '≤ 1', lambda x: x <= 1),
             ('p99 at 70 % of what goes through, ms', loaded, '< 250', lambda x: x < 250),
             ('resident memory, most, MiB', rss, '≤ 64', lambda x: x <= 64),
             ('draining with 10 million orders, of that with none', over(full, empty), '≥ 0.8', lambda x: x >= 0.8),
             ('the daemon’s share of all processor time', share, '< 0.25', lambda x: x < 0.25)]
    return [(what, figure, text, test(figure) if figure is not None else None) for what, figure, text, test in list_]


def markdown(rows, facts, picture):
    out = ['# How fast', '', 'Made by `scripts/bench`; do not edit. Ratios within this one run mean something, the absolute figures are this '
           'machine’s.', '', f"{facts['date']}, {facts['machine']['cores']} cores ({facts['machine']['model']}) shared by orderd, all three "
           f"servers and the load; MySQL {facts['versions']['mysql']}, RabbitMQ {facts['versions']['rabbitmq']}, Redis "
           f"{facts['versions']['redis']}; fsync at each commit, binary log, quorum queues, confirms; fdatasync p50 "
           f"{facts['machine']['fdatasync_p50_us']} µs, p99 {facts['machine']['fdatasync_p99_us']} µs; load before the run "
           f"{facts['machine']['load']}; {facts['orders']} orders a drain.", '', f'![throughput and latency]({picture})', '']
    out += ['| goal | here | asked | met |', '| --- | ---: | --- | --- |']
    for what, figure, text, met in goals(rows):
        out.append(f"| {what} | {'not measured' if figure is None else brief(figure)} | {text} | "
                   f"{'' if met is None else 'yes' if met else '**no**'} |")
    for title, names, keys in SECTIONS:
        lines = table(rows, names, keys)
        if lines:
            out += ['', f'## {title}', ''] + lines
    return '\n'.join(out) + '\n'


# ---- the picture: two panels, logarithmic

WIDTH, HEIGHT, MARGIN = 1000, 400, 72
STYLE = ('svg{background:#fff;font:13px system-ui,sans-serif;fill:#333}.g{stroke:#e4e4e4}.a{stroke:#888}'
         '.l{fill:none;stroke-width:2.2}text.t{font-weight:600;font-size:15px}')


class Panel:
    """One diagram with logarithmic axes."""

    def __init__(self, left, title, x_label, y_label, xs, ys):
        self.left, self.width, self.height = left, WIDTH / 2 - MARGIN - 40, HEIGHT - 2 * MARGIN
        self.x0, self.x1 = self._decades(xs)
        self.y0, self.y1 = self._decades(ys)
        self.out = [f'<text class="t" x="{left}" y="28">{html.escape(title)}</text>',
                    f'<text x="{left + self.width / 2}" y="{HEIGHT - 14}" text-anchor="middle">{html.escape(x_label)}</text>',
                    f'<text x="{left}" y="{MARGIN - 14}">{html.escape(y_label)}</text>']
        self._grid()

    @staticmethod
    def _decades(values):
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return low, max(high, low + 1)

    def x(self, value):
        return self.left + (math.log10(value) - self.x0) / (self.x1 - self.x0) * self.width

    def y(self, value):
        return HEIGHT - MARGIN - (math.log10(value) - self.y0) / (self.y1 - self.y0) * self.height

    def _grid(self):
        for d in range(self.x0, self.x1 + 1):
            x = self.x(10.0 ** d)
            self.out.append(f'<path class="g" d="M{x:.1f} {MARGIN}V{HEIGHT - MARGIN}"/><text x="{x:.1f}" y="{HEIGHT - MARGIN + 18}" '
                            f'text-anchor="middle">{brief(10.0 ** d).rstrip("0").rstrip(".") if d < 0 else format(10 ** d, ",")}</text>')
        for d in range(self.y0, self.y1 + 1):
            y = self.y(10.0 ** d)
            self.out.append(f'<path class="g" d="M{self.left} {y:.1f}H{self.left + self.width:.1f}"/><text x="{self.left - 8}" '
                            f'y="{y + 4:.1f}" text-anchor="end">{format(10.0 ** d, "g") if d < 0 else format(10 ** d, ",")}</text>')

    def series(self, points, colour, name):
        points = sorted(points)
        if not points:
            return
        path = ' '.join(f"{'M' if i == 0 else 'L'}{self.x(x):.1f} {self.y(y):.1f}" for i, (x, y) in enumerate(points))
        self.out.append(f'<path class="l" stroke="{colour}" d="{path}"/>')
        self.out += [f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
        x, y = points[-1]
        self.out.append(f'<text x="{self.x(x) - 6:.1f}" y="{self.y(y) - 9:.1f}" text-anchor="end" fill="{colour}">'
                        f'{html.escape(name)}</text>')

    def level(self, value, name):
        y = self.y(value)
        self.out.append(f'<path class="a" stroke-dasharray="5 4" d="M{self.left} {y:.1f}H{self.left + self.width:.1f}"/>'
                        f'<text x="{self.left + 6}" y="{y - 6:.1f}">{html.escape(name)}</text>')


def batch_points(rows):
    points = {}
    for row in rows:
        if row['name'] in ('batch', 'drain', 'single') and 'quorum' in row['settings'] and row['settings'].startswith('1 × '):
            size = int(row['settings'].split('batch ')[1].split(',')[0])
            points[size] = max(points.get(size, 0), row['figures']['rate']['median'])
    return list(points.items())


def latency_points(rows, batch, key):
    return [(r['figures']['asked']['median'], max(r['figures'][key]['median'], 0.01)) for r in rows
            if r['name'] == 'latency' and r['settings'].startswith(f'batch {batch},') and key in r['figures']]


def picture(rows):
    """SVG, or None where too little was measured to draw."""
    batches, bare = batch_points(rows), best(rows, 'bare pipeline')
    curves = [('#c23b22', 'batch 500, p99', latency_points(rows, 500, 'p99_ms')),
              ('#1f6feb', 'batch 500, p50', latency_points(rows, 500, 'p50_ms')),
              ('#8a8a8a', 'batch 1, p99', latency_points(rows, 1, 'p99_ms'))]
    times = [p for _, _, points in curves for p in points]
    if len(batches) < 2 or len(times) < 2:
        return None
    left = Panel(MARGIN + 8, 'Throughput against batch size', 'orders in one transaction, at most', 'orders/s',
                 [x for x, _ in batches], [y for _, y in batches] + ([bare] if bare else []))
    left.series(batches, '#1a7f37', 'orderd')
    if bare:
        left.level(bare, 'bare pipeline')
    right = Panel(WIDTH / 2 + MARGIN + 8, 'From publish to row against load', 'orders/s', 'ms', [x for x, _ in times],
                  [y for _, y in times])
    for colour, name, points in curves:
        right.series(points, colour, name)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">'
            f'<title>orderd: throughput and latency</title><style>{STYLE}</style>' + ''.join(left.out + right.out) + '</svg>\n')
