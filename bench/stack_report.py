# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/stacks-overhead.md, and what is kept for them."""
import json
import os

import report
import tablecost
import walkcost

AIM_EXTRA_PERCENT = 1.0
OTHERS, QUIET = 3, 0.15		# column of Rounds.head(), and what is quiet, in cores


class Rounds:
    """Rounds of the same runs (pairs.one_round) on one workload."""

    def __init__(self, workload):
        self.workload = workload
        self.rounds = []	# (others' cores, {name: rate}, {name: CPU}, {name: cost})

    def add(self, rates, cpu, costs, busiest):
        self.rounds.append((busiest, rates, cpu, costs))

    def quiet_cnt(self, limit):
        return sum(r[0] <= limit for r in self.rounds)

    def keep_quietest(self, cnt):
        self.dropped_cnt = max(0, len(self.rounds) - cnt)
        self.rounds = sorted(self.rounds, key=lambda r: r[0])[:cnt]

    def losses(self, which, *against):
        return [missing(rates, which, against) for _, rates, _, _ in self.rounds]

    def cpu_more(self, which, *against):
        return [-missing(cpu, which, against) for _, _, cpu, _ in self.rounds]

    def costs(self, which):
        return [costs[which] for _, _, _, costs in self.rounds]

    def head(self):
        return [self.workload.name,
                '%.0f %s' % (report.median([r['plain'] for _, r, _, _ in self.rounds]),
                             self.workload.unit),
                '%d (%d)' % (len(self.rounds), self.dropped_cnt),
                '%.2f' % max(r[0] for r in self.rounds)]


def missing(values, which, against):
    """What which has less than the mean of against, in percent."""
    mean = sum(values[a] for a in against) / len(against)
    return 100 * (1 - values[which] / mean) if mean else 0.0


class Extra(Rounds):
    """heldup with stacks against heldup without."""

    HEAD = ['server', 'unwatched', 'rounds (dropped)', 'others, cores',
            'loss without stacks, %', 'loss with stacks, %', 'stacks cost more, % (median)',
            '% (middle half)', 'noise % (middle half)', 'aim %', 'met',
            'server CPU per request, % more']
    OWN = ['server', 'heldup', 'own CPU %', 'RSS MiB', 'BPF maps MiB', 'events',
           'events lost', 'waits over the budget of stacks']

    def row(self):
        extra = self.losses('with', 'without', 'again')
        noise = self.losses('again', 'without')
        cpu = self.cpu_more('with', 'without', 'again')
        return [*self.head(),
                '%+.1f' % report.median(self.losses('without', 'plain')),
                '%+.1f' % report.median(self.losses('with', 'plain')),
                '%+.1f' % report.median(extra), report.middle(extra), report.middle(noise),
                '%.1f' % AIM_EXTRA_PERCENT, self.met(extra, noise), '%+.1f' % report.median(cpu)]

    @staticmethod
    def met(extra, noise):
        spread = report.quantile(noise, 0.75) - report.quantile(noise, 0.25)
        if spread > 4 * AIM_EXTRA_PERCENT:
            return 'not told (noise)'
        return 'yes' if report.median(extra) <= AIM_EXTRA_PERCENT else 'no'

    def own_rows(self):
        for which in ('without', 'with'):
            costs = self.costs(which)
            own = [c['self'] for c in costs]
            yield [self.workload.name, which + ' stacks',
                   '%.1f' % report.median([c['cpu_percent'] for c in costs]),
                   '%.1f' % report.worst(costs, 'rss_mib'),
                   '%.1f' % (max(s['map_bytes'] for s in own) / 1048576),
                   report.counted(costs, 'events'), report.counted(costs, 'lost'),
                   '%d' % max(s['losses']['stack-budget'] for s in own)]

    def last_line(self):
        busiest, rates, _, _ = self.rounds[-1]
        return '%s: unwatched %.0f %s, loss without %+.1f %%, with %+.1f %%, others %.2f cores' % (
            self.workload.name, rates['plain'], self.workload.unit,
            missing(rates, 'without', ['plain']), missing(rates, 'with', ['plain']), busiest)


class Loss(Rounds):
    """A peer against nothing."""

    HEAD = ['server', 'unwatched', 'rounds (dropped)', 'others, cores', 'watched by',
            'loss % (median)', 'loss % (middle half)', 'noise % (middle half)',
            'server CPU per request, % more', 'own CPU %', 'RSS MiB', 'written']

    def __init__(self, workload, watcher):
        super().__init__(workload)
        self.watcher = watcher

    def row(self):
        loss = self.losses('watched', 'plain', 'again')
        costs = self.costs('watched')
        return [*self.head(), self.watcher, '%+.1f' % report.median(loss), report.middle(loss),
                report.middle(self.losses('again', 'plain')),
                '%+.1f' % report.median(self.cpu_more('watched', 'plain', 'again')),
                '%.1f' % report.median([c['cpu_percent'] for c in costs]),
                '%.1f' % report.worst(costs, 'rss_mib'), costs[-1].get('disk', '-')]

    def last_line(self):
        busiest, rates, _, _ = self.rounds[-1]
        return '%s, %s: loss %+.1f %%, noise %+.1f %%, others %.2f cores' % (
            self.workload.name, self.watcher, missing(rates, 'watched', ['plain', 'again']),
            missing(rates, 'again', ['plain']), busiest)


REACH = ['server', 'stacks by', 'on CPU: stacks', 'user frames', 'whole %', 'off CPU: stacks',
         'user frames', 'whole %', 'waits with one, %', 'wakers: stacks', 'whole %']


def reach_row(server, watcher, found):
    """found: {'on': Reach, 'off': Reach, 'waker': Reach}, those that there are."""
    row = [server, watcher]
    for which in ('on', 'off', 'waker'):
        one = found.get(which)
        cells = ['%d' % one.stack_cnt, one.frames(), one.percent(), one.covered()] if one \
            else ['-'] * 4
        row += {'on': cells[:3], 'off': cells, 'waker': [cells[0], cells[2]]}[which]
    return row


WALK = ['threads of', 'stacks/s', 'user frames', 'ns per stack', 'lowest .. highest']


def walk_row(walk):
    return [walk.name, '%.0f' % walk.walks_per_s, '%.1f' % walk.frames, '%.0f' % walk.ns,
            '%.0f .. %.0f' % walk.spread]


class Kept:
    """{section: {key: {rows, command, machine}}} in a file."""

    def __init__(self, path):
        self.path = path
        self.sections = {}
        if os.path.exists(path):
            with open(path) as f:
                self.sections = json.load(f)

    def put(self, section, key, rows, opts):
        self.sections.setdefault(section, {})[key] = {
            'rows': list(rows), 'command': opts.command.strip(), 'machine': report.machine()}
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + '.new', 'w') as f:
            json.dump(self.sections, f, indent=1)
        os.replace(self.path + '.new', self.path)

    def rows(self, section):
        return [row for _, one in sorted(self.sections.get(section, {}).items())
                for row in one['rows']]

    def origins(self):
        """{machine: [command]}, each said once."""
        seen = {}
        for section in self.sections.values():
            for one in section.values():
                commands = seen.setdefault(one['machine'], [])
                if one['command'] not in commands:
                    commands.append(one['command'])
        return seen


# (title, [(section, head)], text)
SECTIONS = (
    ('What stacks add for the watched server', [('extra', Extra.HEAD)], '''\
A round is the same load unwatched, with `heldup why --no-stacks`, with `heldup why` (samples of
running threads at 99 Hz, stacks of waits and of wakers), and without stacks once more, in an order
that changes. What stacks cost more is the throughput of the run with them that is missing against
the mean of the two without; noise is the same figure between these two, and an amount inside it is
not told from none. The quietest rounds are kept; others is what the rest of the machine used in the
worst of them.'''),
    ('heldup itself', [('own', Extra.OWN)], '''\
Own CPU is of one core while the load runs; RSS is the peak, with the analysis at the end. Maps hold
the tables of all files that the server has mapped. Waits over the budget got no stack: a thread is
walked at most once in 10 ms, a CPU 2,000 times a second.'''),
    ('Its peers on the same work', [('peers', Loss.HEAD)], '''\
Loss is against the mean of the two unwatched runs beside it. perf only samples running threads.
With `--call-graph dwarf` it copies 8 KiB of stack at each sample and unwinds later; the others
follow frame pointers, which Debian's postgres and mariadbd have, and redis-server, nginx and the C
library do not.'''),
    ('How many stacks are whole', [('reach', REACH)], '''\
A stack is whole if its last frame is main, the start of the thread, or what the C library has above
these. One judge for all: eu-stack says at which addresses these frames stand in the servers'
processes. Stacks are counted as often as they occur. heldup's are of a run of their own, with each
event printed.'''),
    ('Nanoseconds inside the kernel', [('depth', WALK), ('fit', ['fixed, ns', 'per frame, ns']),
                                       ('walks', WALK)], '''\
Run time of the BPF programs when each wait and each waker is walked, without budget, less that
without stacks, over the walks. First a program whose threads switch from known depths
(`bench/switcher.c`), and the straight line through that: what any stack costs (registers, the
kernel's frames, the look-up of the whole) and what each user frame adds. Then the servers.'''),
    ('In use', [('in use', walkcost.InUse.HEAD)], '''\
The same measure for `heldup why` as it is, with its budget: what its programs use of one core, and
what became of the stacks.'''),
    ('Tables and the start', [('tables', tablecost.Tables.HEAD), ('begin', tablecost.Begin.HEAD)],
     '''\
Medians of 15 (`bench/tables.c`), each in a process of its own. Then `heldup why -d 1s` on the idle
server of maria-rw: the time from the call to the end, less the window.'''),
)


def document(kept):
    parts = ['# What stacks cost', '']
    for machine, commands in kept.origins().items():
        parts += ['Measured on %s, by' % machine, '', *('    ' + c for c in commands), '']
    if any(float(row[OTHERS]) > QUIET for name in ('extra', 'peers') for row in kept.rows(name)):
        parts += ['The machine was shared with other work in some of the runs (see others, cores): '
                  'their losses are rough.', '']
    for title, tables, text in SECTIONS:
        shown = [report.table(head, kept.rows(name)) for name, head in tables if kept.rows(name)]
        if shown:
            parts += ['## ' + title, '', text, '', '\n\n'.join(shown), '']
    return '\n'.join(parts)
