"""scripts/bench: measures orderd beside what the stores allow, in one run on the same private servers."""
import argparse
import datetime
import json
import os
import sys
import time

import ground
import life
import measures
import report

MEASURES = [measures.limit, measures.drain, measures.batch, measures.single, measures.latency, measures.cost, life.growth,
            life.release, life.returns, life.relay, life.hot, life.duplicates, life.reconnect]
BRIEF = [measures.limit, measures.drain, measures.single, measures.latency, life.growth]


class Words(argparse.ArgumentParser):
    """Wrong ones get one sentence, and 64."""

    def error(self, message):
        self.exit(64, f'{self.prog}: {message}; see {self.prog} --help\n')


def arguments():
    names = [m.__name__ for m in MEASURES]
    parser = Words(prog='scripts/bench', description=__doc__, epilog='Measures: ' + ', '.join(names))
    parser.add_argument('--only', metavar='NAMES', default='', help='some of the measures, separated by commas')
    parser.add_argument('--repeat', metavar='N', type=int, default=5, help='runs; medians are reported (default 5)')
    parser.add_argument('--all', action='store_true', help='in each run all measures; else those after the first have what a goal is about')
    parser.add_argument('--orders', metavar='N', type=int, default=200_000, help='that wait for a drain (default 200000)')
    parser.add_argument('--quick', action='store_true', help='once, with a tenth of the orders and few settings: does it all work?')
    parser.add_argument('--out', metavar='DIR', default='', help='where bench.md, bench.json and bench.svg go (default: nowhere)')
    parser.add_argument('--check', action='store_true', help='only look whether the other words can be done, then end')
    options = parser.parse_args()
    chosen = [n for n in options.only.split(',') if n] or names
    unknown = [n for n in chosen if n not in names]
    if unknown:
        parser.error(f'{unknown[0]} is no measure; there are {", ".join(names)}')
    if options.repeat < 1 or options.orders < 1000:
        parser.error('--repeat is 1 or more, --orders 1000 or more')
    if options.quick:
        options.repeat, options.orders = 1, min(options.orders, 20_000)
    return options, [m for m in MEASURES if m.__name__ in chosen]


def write(folder, rows, facts):
    os.makedirs(folder, exist_ok=True)
    drawn = report.picture(rows)
    if drawn:
        with open(os.path.join(folder, 'bench.svg'), 'w', encoding='utf-8') as file:
            file.write(drawn)
    with open(os.path.join(folder, 'bench.json'), 'w', encoding='utf-8') as file:
        json.dump({**facts, 'rows': rows}, file, indent=1, ensure_ascii=False)
        file.write('\n')
    with open(os.path.join(folder, 'bench.md'), 'w', encoding='utf-8') as file:
        file.write(report.markdown(rows, facts, 'bench.svg'))


def main():
    options, chosen = arguments()
    if options.check:
        return 0
    facts = {'date': datetime.date.today().isoformat(), 'machine': ground.machine(), 'versions': ground.versions(),
             'orders': options.orders, 'repeat': options.repeat}
    print(f"{facts['machine']} {facts['versions']}", flush=True)
    bench = measures.Bench(options.orders, options.quick, lambda row: print(report.line(row), flush=True))
    for turn in range(options.repeat):
        began = time.monotonic()
        bench.brief = turn > 0 and not options.all
        for measure in chosen:
            if bench.brief and measure not in BRIEF:
                continue
            measure(bench)
            if options.out:
                write(options.out, report.merged(bench.rows), facts)
        print(f'run {turn + 1} of {options.repeat}: {time.monotonic() - began:.0f} s', flush=True)
    rows = report.merged(bench.rows)
    missed = False
    for what, figure, limit, met in report.goals(rows):
        missed = missed or met is False
        print(f"{'MISSED' if met is False else 'ok' if met else '-':8} {what}: "
              f"{'not measured' if figure is None else report.brief(figure)} (asked {limit})")
    return 1 if missed else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except ground.Failed as failed:
        print(f'bench: {failed}', file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
