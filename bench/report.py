# SPDX-License-Identifier: Apache-2.0
"""Medians, spreads and the tables of docs/overhead.md."""
import datetime
import os
import platform

AIM_CPU_PERCENT = 1.0
AIM_RSS_MIB = 64


def quantile(values, q):
    """Linear between neighbours."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def median(values):
    return quantile(values, 0.5)


def middle(values):
    """The interquartile range as text."""
    return '%+.1f .. %+.1f' % (quantile(values, 0.25), quantile(values, 0.75))


def worst(costs, key):
    values = [c[key] for c in costs if c.get(key) is not None]
    return max(values) if values else 0.0


def counted(costs, *keys):
    """The largest value that heldup reports under one of keys in `self`."""
    values = [c['self'][k] for c in costs for k in keys
              if isinstance(c.get('self', {}).get(k), (int, float))]
    return '%d' % max(values) if values else '-'


def loss(got, which):
    return 100 * (1 - got[which] / got['plain'])


class Result:
    """A workload with one watcher; one entry for each pair."""

    def __init__(self, workload, watcher):
        self.workload = workload
        self.watcher = watcher
        self.pairs = []		# (others' cores, rate, loss, noise, cpu more, cost)

    def add(self, got, cost, busiest):
        self.pairs.append((busiest, got['plain'], loss(got, 'watched'), loss(got, 'control'),
                           got['cpu more'], cost))

    def quiet_cnt(self, limit):
        return sum(pair[0] <= limit for pair in self.pairs)

    def keep_quietest(self, cnt):
        self.dropped_cnt = max(0, len(self.pairs) - cnt)
        self.pairs = sorted(self.pairs, key=lambda pair: pair[0])[:cnt]
        columns = list(zip(*self.pairs))
        self.busiest = max(columns[0])
        self.rates, self.losses, self.noise, self.cpu_more, self.costs = columns[1:]

    def row(self):
        mine = self.watcher == 'heldup'
        aim = '%.1f' % self.workload.aim_percent if mine else ''
        met = self.met() if mine else ''
        return [self.workload.name, self.watcher,
                '%.0f %s' % (median(self.rates), self.workload.unit),
                '%d (%d)' % (len(self.losses), self.dropped_cnt), '%.2f' % self.busiest,
                '%+.1f' % median(self.losses), middle(self.losses), middle(self.noise), aim, met,
                '%+.1f' % median(self.cpu_more),
                '%.1f' % worst(self.costs, 'cpu_percent'), '%.1f' % worst(self.costs, 'rss_mib'),
                counted(self.costs, 'events') if mine else '',
                counted(self.costs, 'lost') if mine else '']

    def met(self):
        spread = quantile(self.noise, 0.75) - quantile(self.noise, 0.25)
        if spread > 4 * self.workload.aim_percent:
            return 'not told (noise)'
        return 'yes' if median(self.losses) <= self.workload.aim_percent else 'no'

    HEAD = ['workload', 'watched by', 'plain', 'pairs (dropped)', 'others, cores',
            'loss % (median)', 'loss % (middle half)', 'noise % (middle half)', 'aim %', 'met',
            'server CPU per request, %', 'own CPU %', 'RSS MiB', 'events', 'drops']


class Own:
    """heldup's own cost at a rate of switches."""

    HEAD = ['workload', 'switches/s', 'own CPU %', 'aim %', 'RSS MiB', 'aim MiB',
            'BPF in kernel, % of a core', 'ns per BPF run', 'ns per switch', 'BPF maps MiB',
            'events', 'drops']

    def __init__(self, workload, rates, costs, in_kernel):
        self.workload = workload
        self.rates = rates
        self.costs = costs
        self.in_kernel = in_kernel

    def row(self):
        k = self.in_kernel

        def figure(key, form='%.1f'):
            return form % k[key] if key in k else '-'
        return [self.workload.name, '%.0f' % median(self.rates),
                '%.2f' % median([c['cpu_percent'] for c in self.costs]),
                '%.0f' % AIM_CPU_PERCENT, '%.1f' % worst(self.costs, 'rss_mib'),
                '%d' % AIM_RSS_MIB, figure('percent', '%.2f'), figure('ns_per_run', '%.0f'),
                figure('ns_per_switch', '%.0f'), figure('map_mib'),
                counted(self.costs, 'events'),
                counted(self.costs, 'lost')]

    def line(self):
        return ', '.join('%s %s' % pair for pair in zip(self.HEAD, self.row()))


def table(head, rows):
    out = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    out += ['| ' + ' | '.join(row) + ' |' for row in rows]
    return '\n'.join(out)


def machine():
    model = ''
    with open('/proc/cpuinfo') as f:
        for line in f:
            if line.startswith('model name'):
                model = line.split(':', 1)[1].strip()
                break
    return '%d CPUs (%s), Linux %s, %s' % (os.cpu_count(), model, platform.release(),
                                           datetime.date.today().isoformat())


def document(opts, losses, costs):
    parts = ['# What watching costs', '']
    parts += ['Measured by `%s` on %s.' % (opts.command.strip(), machine()), '']
    if losses:
        parts += [
            '## The watched server', '',
            'One load that goes on, seen for %d seconds without and with a watcher, one after '
            'the other and in' % opts.seconds,
            'changing order; data is in memory, so that no disk scatters it. Loss is the '
            'throughput that is missing',
            'in the watched run of a pair; noise is the same figure',
            'for a second run without a watcher. A loss inside the noise is not told from '
            'none. The quietest',
            'pairs are kept; others is what the rest of the machine used in the worst of them. '
            'Server CPU per',
            'request is how much more of it the server used when watched (BPF programs run in '
            'its threads); it',
            'scatters less than throughput. Own CPU is of one core, while the load runs; RSS is '
            'the peak, with',
            'the analysis at the end. heldup watches as it does by default: where its programs '
            'would take more',
            'than 1 % of the CPU time in use, it rests in between (`--max-cost`). `bench/turns` '
            'tells that cost',
            'more closely ([turns-overhead.md](turns-overhead.md)).', '',
            table(Result.HEAD, [r.row() for r in losses]), '']
    if costs:
        parts += [
            '## heldup itself', '',
            'A program makes context switches at a fixed rate (`bench/switcher.c`). Own CPU is '
            'the process of heldup;',
            'the time of its BPF programs is spent in the watched threads and counted by the '
            'kernel',
            '(`kernel.bpf_stats_enabled`, which adds about 20 ns to each run).', '',
            table(Own.HEAD, [c.row() for c in costs]), '']
    return '\n'.join(parts)
