# SPDX-License-Identifier: Apache-2.0
"""What a walk costs inside the kernel: the run time of heldup's BPF programs with
stacks less that without, over the walks that were made.

Both times are the kernel's own (kernel.bpf_stats_enabled; what counting adds is
in both and falls out), the walks are counted by the programs themselves (the
map hu_stk_cpu, read with bpftool at both ends of a run).
"""
import json
import os
import subprocess
import time

import hooks
import report
import stack_watchers
import watchers
import workloads
from kit import host, lab as labs
from kit.lab import LabError

HERE = os.path.dirname(os.path.abspath(__file__))
WATCH = os.path.join(os.path.dirname(HERE), 'build', 'tests', 'watch')
COUNTS_MAP = 'hu_stk_cpu'
WALKED, FRAMES, REUSED, OVER = 0, 1, 2, 3	# enum unw_count
DEPTHS = (0, 20, 40, 80)
THREADS = 8
EACH = '2'	# enum stacks_mode: of each wait, whatever it costs


def map_id(pid, name):
    for info in hooks.fd_infos(pid):
        if 'map_id' in info:
            found = bpftool('map', 'show', 'id', info['map_id'])
            if found.get('name') == name:
                return info['map_id']
    raise LabError('no map %s' % name)


def run_time_ns(pid):
    return sum(ns for _, ns in hooks.programs(pid).values())


def bpftool(*words):
    done = subprocess.run(['bpftool', '-j', *words], capture_output=True, text=True,
                          env=dict(os.environ, PATH=host.PATH))
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise LabError('bpftool: ' + (done.stderr or done.stdout)[-200:])


def stack_counts(pid):
    """enum unw_count of all CPUs together."""
    dump = bpftool('map', 'dump', 'id', map_id(pid, COUNTS_MAP))
    per_cpu = dump[0].get('formatted', dump[0])['values']
    return [sum(column) for column in zip(*(v['value']['cnt'] for v in per_cpu))]


class Cost:
    """Of one run, with stats on."""

    def __init__(self, workload, watcher, seconds, counted):
        watcher.begin(workload, seconds)
        pid = watcher.proc.pid
        zero = [0] * 16
        n0 = stack_counts(pid) if counted else zero
        t0, first = time.monotonic(), run_time_ns(pid)
        rate = workload.run(seconds)
        span, last = time.monotonic() - t0, run_time_ns(pid)
        n1 = stack_counts(pid) if counted else zero
        self.cost = watcher.end()
        used_ns = last - first
        work = rate * span		# switches or requests
        self.percent = 100 * used_ns / (span * 1e9)
        self.ns_per_work = used_ns / work
        self.cnt = [b - a for a, b in zip(n0, n1)]
        self.per_s = [n / span for n in self.cnt]
        self.walks_per_work = self.cnt[WALKED] / work
        self.frames_per_walk = self.cnt[FRAMES] / max(self.cnt[WALKED], 1)


class Walk:
    """Walks at each wait, against none: medians over rounds."""

    def __init__(self, workload, seconds, rounds):
        self.name = workload.name
        off, each = [], []
        with hooks.Timed():
            for turn in range(rounds):
                for stacks in ('0', EACH) if turn % 2 == 0 else (EACH, '0'):
                    cost = Cost(workload, watchers.Watch(WATCH, stacks), seconds, stacks == EACH)
                    (each if stacks == EACH else off).append(cost)
        base = report.median([c.ns_per_work for c in off])
        per_walk = [(c.ns_per_work - base) / c.walks_per_work for c in each
                    if c.walks_per_work]
        if not per_walk:
            raise LabError('%s: no stack was walked' % workload.name)
        self.ns, self.spread = report.median(per_walk), (min(per_walk), max(per_walk))
        self.frames = report.median([c.frames_per_walk for c in each])
        self.walks_per_s = report.median([c.per_s[WALKED] for c in each])

    def line(self):
        return '%s: %.0f ns per stack (%.0f .. %.0f) of %.1f user frames, %.0f stacks/s' % (
            self.name, self.ns, *self.spread, self.frames, self.walks_per_s)


def by_depth(seconds, rounds):
    """Walks of known depths, and the line through them: (walks, ns fixed, ns per frame)."""
    walks = []
    for depth in DEPTHS:
        workload = workloads.Switcher('depth %d' % depth, '', '--threads', THREADS, '--rings', 2,
                                      '--depth', depth)
        with labs.Lab('bench') as lab:
            workload.setup(lab)
            walks.append(Walk(workload, seconds, rounds))
            print('  ' + walks[-1].line(), flush=True)
    return walks, *fit([w.frames for w in walks], [w.ns for w in walks])


def fit(x, y):
    """Least squares: y at 0, and the slope."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / spread if spread else 0.0
    return mean_y - slope * mean_x, slope


class InUse:
    """`heldup why` with and without stacks, by the kernel's count."""

    HEAD = ['server', 'BPF without stacks, % of a core', 'with, % of a core',
            'more for each request, ns', 'stacks walked/s', 'user frames', 'reused/s',
            'over the budget/s']

    def __init__(self, workload, heldup, seconds, rounds):
        self.name = workload.name
        self.without, self.with_ = [], []
        with hooks.Timed():
            for _ in range(rounds):
                self.without.append(Cost(workload, stack_watchers.Without(heldup), seconds, False))
                self.with_.append(Cost(workload, stack_watchers.With(heldup), seconds, True))

    def row(self):
        def mid(costs, key):
            return report.median([getattr(c, key) for c in costs])
        per_s = [report.median(c) for c in zip(*(c.per_s for c in self.with_))]
        return [self.name, '%.2f' % mid(self.without, 'percent'), '%.2f' % mid(self.with_, 'percent'),
                '%.0f' % (mid(self.with_, 'ns_per_work') - mid(self.without, 'ns_per_work')),
                '%.0f' % per_s[WALKED], '%.1f' % mid(self.with_, 'frames_per_walk'),
                '%.0f' % per_s[REUSED], '%.0f' % per_s[OVER]]
