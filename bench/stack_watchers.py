# SPDX-License-Identifier: Apache-2.0
"""Those that take stacks: heldup with and without them, perf, bpftrace.

A peer's reach() tells, after its last run, which share of its stacks is whole.
"""
import os
import shutil
import signal
import subprocess

import reach
import watchers
from kit import host

SCRIPT_S = 100		# perf unwinds afterwards, and slowly


class Without(watchers.Heldup):
    name = 'heldup without stacks'
    options = ('--no-stacks',)


class With(watchers.Heldup):
    name = 'heldup with stacks'


class Perf(watchers.Peer):
    """Samples of running threads; what waits is not seen."""

    tools = ('perf',)
    options = ()
    bytes = 0

    def argv(self, workload):
        self.lab = workload.lab
        self.file = workload.lab.path('perf.data')
        pids = [workload.server.pid] + host.descendants(workload.server.pid)
        return ['perf', 'record', '-q', '-N', '-F', 99, *self.options, '-o', self.file,
                '-p', ','.join(str(p) for p in pids)]

    def begin(self, workload, seconds):
        super().begin(workload, seconds)
        self.seconds = seconds

    def end(self):
        cost = super().end()
        self.bytes = os.path.getsize(self.file)
        cost['disk'] = '%.1f MiB/s' % (self.bytes / 1048576 / self.seconds)
        return cost

    def reach(self, starts):
        out = self.lab.path('perf.txt')
        try:
            with open(out, 'w') as f:
                subprocess.run(['perf', 'script', '-F', 'ip,sym,dso', '--no-inline', '-i', self.file],
                               stdout=f, stderr=subprocess.DEVNULL, timeout=SCRIPT_S)
        except subprocess.TimeoutExpired:
            pass	# what it has unwound by then is a sample too
        with open(out) as f:
            return {'on': reach.of_perf_script(f.read(), starts)}


class PerfDwarf(Perf):
    name = 'perf record --call-graph dwarf -F 99'
    options = ('--call-graph', 'dwarf')


class PerfPointers(Perf):
    name = 'perf record -g -F 99 (frame pointers)'
    options = ('--call-graph', 'fp')


class Bpftrace(watchers.Bpftrace):
    name = 'bpftrace ustack, 99 Hz and sched_switch'
    script = 'stacks.bt'

    def argv(self, workload):	# without its cache it reads the symbols for each stack anew
        return ['env', 'BPFTRACE_CACHE_USER_SYMBOLS=1'] + super().argv(workload)

    def finish(self):
        os.kill(self.proc.pid, signal.SIGINT)
        try:
            self.proc.popen.wait(30)	# it prints its maps
        except subprocess.TimeoutExpired:
            self.proc.stop()

    def reach(self, starts):
        return reach.of_bpftrace(self.proc.text(), starts)


def peers():
    return [p() for p in (PerfDwarf, PerfPointers, Bpftrace)
            if all(shutil.which(t, path=host.PATH) for t in p.tools)]
