# SPDX-License-Identifier: Apache-2.0
"""Windows of a load that goes on: without a watcher, with it, without it.

A machine that others share changes its speed by a tenth within seconds.  So a
window with a watcher is compared with the mean of the one right before and the
one right after it, and all three are made again where others used the CPUs.

What is done in a window is what the server's sockets received in it, which
needs no question to the server; CPU time is the scheduler's, in nanoseconds.
"""
import os
import re
import subprocess
import time

from kit import host
from kit.lab import LabError

SETTLE_S = 0.2		# after a watcher has attached or is gone


def received(port):
    """Bytes that the sockets of a listening port have received so far."""
    text = subprocess.run(['ss', '-tinHO', 'state', 'established', 'sport', '=', ':%d' % port],
                          capture_output=True, text=True).stdout
    return sum(int(n) for n in re.findall(r'\bbytes_received:(\d+)', text))


def cpu_ns(pid):
    """CPU time of the threads of a process and of all below it."""
    total = 0
    for one in (pid, *host.descendants(pid)):
        try:
            for tid in os.listdir('/proc/%d/task' % one):
                with open('/proc/%d/task/%s/schedstat' % (one, tid)) as f:
                    total += int(f.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total


class Window:
    """rate in bytes a second, CPU time in ns a byte, cores that others used."""

    def __init__(self, workload, seconds):
        port = workload.server.port
        others, t0, n0 = host.Foreign(), time.monotonic(), received(port)
        server0, client0 = cpu_ns(workload.server.pid), cpu_ns(workload.loading.pid)
        time.sleep(seconds)
        server1, client1 = cpu_ns(workload.server.pid), cpu_ns(workload.loading.pid)
        n1, t1 = received(port), time.monotonic()
        self.others = others.cores()
        if n1 <= n0:
            raise LabError('%s: nothing was done: %s' % (workload.name,
                                                         workload.loading.text()[-200:]))
        self.rate = (n1 - n0) / (t1 - t0)
        self.server = (server1 - server0) / (n1 - n0)
        self.both = self.server + (client1 - client0) / (n1 - n0)
        self.end = t1


def apart(window, neighbours, key):
    """By how many percent a window lies above the mean of its neighbours."""
    mean = sum(getattr(w, key) for w in neighbours) / len(neighbours)
    return 100 * (getattr(window, key) / mean - 1)


class Series:
    """Windows of one workload; each is both after one watcher and before the next."""

    FRESH_S = 2.0	# a window without a watcher that is older is made again

    def __init__(self, workload, seconds):
        self.workload, self.seconds = workload, seconds
        self.last = None

    def plain(self):
        if not self.last or time.monotonic() - self.last.end > self.FRESH_S:
            self.last = Window(self.workload, self.seconds)
        return self.last

    def triple(self, watcher):
        """What one watcher did: a dict of percents and its own costs."""
        before = self.plain()
        watcher.begin(self.workload, self.seconds)
        time.sleep(SETTLE_S)
        watched = Window(self.workload, self.seconds)
        cost = watcher.end()
        time.sleep(SETTLE_S)
        self.last = None
        after = self.plain()
        near = (before, after)
        return {'others': max(w.others for w in (before, watched, after)),
                'rate': (before.rate + after.rate) / 2,
                'loss': -apart(watched, near, 'rate'), 'server': apart(watched, near, 'server'),
                'both': apart(watched, near, 'both'), **cost}


def request_bytes(workload):
    """Bytes of a request: known, or from what the generator says of two of its lines."""
    if workload.request_bytes:
        return workload.request_bytes
    port = workload.server.port
    t0, done0 = workload.counted()
    n0 = received(port)
    time.sleep(1.5)
    t1, done1 = workload.counted()
    return (received(port) - n0) / max(done1 - done0, 1)
