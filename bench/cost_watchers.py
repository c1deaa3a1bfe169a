# SPDX-License-Identifier: Apache-2.0
"""The watchers that bench/cost compares: heldup, empty programs on its hooks, its peers."""
import os
import re
import signal
import subprocess
import time

import hooks
import watchers
from kit.lab import LabError

HERE = os.path.dirname(os.path.abspath(__file__))
WHY, WHY_ALL, RECORD = 'heldup why', 'heldup why --max-cost 0', 'heldup record --calls'
FLOOR = 'empty programs, hooks of %s'
QUIET = 'nothing (noise)'
END_S = 120


class Brief(watchers.Heldup):
    """heldup why that is interrupted as soon as the load has been seen; notes its hooks."""

    LONG_S = 600

    def __init__(self, path, name, *more):
        super().__init__(path, more)
        self.name, self.hooks = name, []

    def begin(self, workload, seconds):
        super().begin(workload, self.LONG_S)
        self.note_hooks()

    def note_hooks(self):
        """All that it had at one time or another: some are attached for slices of time."""
        self.hooks = sorted({*self.hooks, *hooks.attached(self.proc.pid)[0]})

    def end(self):
        pid = self.proc.pid
        cpu1, t1, rss = watchers.cpu_seconds(pid), time.monotonic(), watchers.peak_rss_mib(pid)
        if cpu1 is None or not self.proc.alive():
            raise LabError('heldup ended before the load: ' + self.proc.text()[-300:])
        self.note_hooks()
        doc = self.interrupted(pid)
        return {'cpu_percent': 100 * (cpu1 - self.cpu0) / (t1 - self.t0), 'rss_mib': rss,
                'start_cpu_s': self.cpu0, 'share': watched_share(doc),
                'lost': (doc.get('self') or {}).get('lost')}

    def interrupt(self, pid):
        os.kill(pid, signal.SIGINT)
        try:
            self.proc.popen.wait(END_S)
        except subprocess.TimeoutExpired:
            self.proc.stop()
            raise LabError('%s did not end in %d s' % (self.name, END_S))

    def interrupted(self, pid):
        self.interrupt(pid)
        return self.read()


class BriefRecord(Brief):
    """heldup record --calls, likewise; what it has is read back by heldup why."""

    def begin(self, workload, seconds):
        self.capture = workload.lab.path('calls.cap')
        self.proc = workload.lab.spawn(
            [self.path, 'record', '--calls', '--force', '--then', '0', *self.options,
             *workload.selection(), '-o', self.capture], stop=signal.SIGINT)
        self.wait_attached()
        self.cpu0, self.t0 = watchers.cpu_seconds(self.proc.pid), time.monotonic()
        self.note_hooks()

    def interrupted(self, pid):
        self.interrupt(pid)
        return {'text': self.proc.text()}


def watched_share(doc):
    """Of the time, in percent; None where the watcher does not say it."""
    window = doc.get('window') or {}
    if window.get('seconds'):
        return 100 * window['seconds'] / (window['seconds'] + (window.get('rest_seconds') or 0))
    away = re.search(r'away ([\d.]+) ?s of ([\d.]+) ?s', doc.get('text', ''))
    return 100 * (1 - float(away.group(1)) / float(away.group(2))) if away else None


def build_floor(lab):
    path = lab.path('floor')
    if not os.path.exists(path):
        lab.call(['cc', '-O2', '-std=gnu11', '-o', path, os.path.join(HERE, 'floor.c'), '-lbpf'])
    return path


class Floor(watchers.Peer):
    """Empty programs on the hooks that `like`, another watcher, had when it watched last."""

    def __init__(self, like):
        self.like, self.name = like, FLOOR % like.name

    def begin(self, workload, seconds):
        words = self.like.hooks
        if not words:
            raise LabError('%s has not watched yet' % self.like.name)
        self.proc = workload.lab.spawn([build_floor(workload.lab), *words])
        workload.lab.wait_for(self.proc, lambda: 'ready' in self.proc.text(), 'programs', 20)
        self.mark()

    def end(self):
        return dict(super().end(), hooks=len(self.like.hooks))


def every(heldup, with_peers=True):
    """All of them; a floor comes after the watcher whose hooks it has."""
    why, record = Brief(heldup, WHY), BriefRecord(heldup, RECORD)
    found = [watchers.Nothing(), why, Brief(heldup, WHY_ALL, '--max-cost', '0'), Floor(why),
             record, Floor(record)]
    return found + (watchers.peers() if with_peers else [])
