# SPDX-License-Identifier: Apache-2.0
"""What comes before the first stack: tables made (bench/tables.c), a watch begun."""
import glob
import json
import os
import shutil
import subprocess
import time

import report
from kit import host
from kit.lab import LabError

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(TOP, 'build', 'bench', 'tables')
AIM_MS = 150
CACHE = '/var/cache/heldup'


def files():
    """mariadbd, what holds node's code, libjvm.so; those that are here."""
    wanted = [shutil.which(n, path=host.PATH) for n in ('mariadbd', 'node', 'postgres')]
    wanted += glob.glob('/usr/lib/*-linux-gnu/libnode.so.*')[:1]
    wanted += sorted(glob.glob('/usr/lib/jvm/java-*-openjdk-*/lib/server/libjvm.so'))[:1]
    return list(dict.fromkeys(os.path.realpath(p) for p in wanted if p))


class Tables:
    """One file by bench/tables.c, in a process of its own: the peak is its alone."""

    HEAD = ['file', 'FDEs', 'rows', 'extended rules', 'not expressible', 'table KiB',
            'made anew, ms', 'anew, file not in memory, ms', 'from the cache, ms', 'aim ms',
            'met', 'peak RSS MiB']

    def __init__(self, path):
        # A shell between: the peak would begin with what this process has.
        done = subprocess.run(['sh', '-c', '"$@"; exit $?', 'sh', PROGRAM, path],
                              capture_output=True, text=True)
        lines = done.stdout.splitlines()
        if done.returncode or len(lines) < 3:
            raise LabError('tables %s: %s' % (path, done.stderr[-200:]))
        self.cells = lines[1].split()[-8:]
        self.name = os.path.basename(path)
        self.peak_mib = int(lines[-1].split('peak memory')[1].split()[0]) / 1024
        subprocess.run(['rm', '-rf', lines[-1].split()[2].rstrip(':')], check=True)

    def row(self):
        met = max(float(self.cells[5]), float(self.cells[6])) <= AIM_MS
        return [self.name, *self.cells, str(AIM_MS), 'yes' if met else 'no',
                '%.1f' % self.peak_mib]


def one_watch(lab, heldup, options, pid, fresh):
    """(wall time beyond the watch itself, CPU time to load and attach, in ms)."""
    argv = [heldup, 'why', '-p', str(pid), '-d', '1s', '--json', *options]
    if fresh:	# an empty cache that only this process sees
        os.makedirs(CACHE, 0o700, exist_ok=True)
        argv = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs -o mode=700 none %s && exec "$@"'
                % CACHE, 'sh'] + argv
    t0 = time.monotonic()
    doc = json.loads(lab.call(argv))
    wall = time.monotonic() - t0 - doc['window']['seconds']
    return 1e3 * wall, doc['self']['start_cpu_ns'] / 1e6


class Begin:
    """`heldup why` of an idle server, beyond the second that it watches."""

    HEAD = ['watch', 'runs', 'start and end, ms (median)', 'ms (middle half)',
            'CPU to load and attach, ms']
    WAYS = (('without stacks', ('--no-stacks',), False), ('with stacks', (), False),
            ('with stacks, cache empty', (), True))

    def __init__(self, workload, heldup, rounds):
        self.rounds = rounds
        self.seen = {name: [] for name, _, _ in self.WAYS}
        for turn in range(rounds):
            ways = self.WAYS if turn % 2 == 0 else self.WAYS[::-1]
            for name, options, fresh in ways:
                self.seen[name].append(one_watch(workload.lab, heldup, options,
                                                 workload.server.pid, fresh))

    def rows(self):
        for name, seen in self.seen.items():
            wall, cpu = zip(*seen)
            yield [name, '%d' % len(seen), '%.0f' % report.median(wall),
                   '%.0f .. %.0f' % (report.quantile(wall, 0.25), report.quantile(wall, 0.75)),
                   '%.0f' % report.median(cpu)]
