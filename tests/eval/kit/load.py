# SPDX-License-Identifier: Apache-2.0
"""Load generators.  Each has measure(t0, t1): what the clients saw, as a dict.

Times are time.monotonic(); measure() is called after stop().
"""
import os
import re
import signal
import sys
import time

from . import host, servers

CLIENT = os.path.join(servers.BIN, 'client.py')
FOREVER_S = 600


def quantile(sorted_values, q):
    return sorted_values[min(len(sorted_values) - 1, int(q * len(sorted_values)))]


class Client:
    """The small client of bin/: a fixed rate (or closed loop) with latencies.

    It runs before other generators on its core: what it measures shall be the
    server's latency and not the client's own wait for the CPU.
    """

    def __init__(self, lab, proto, port, conns=1, rate=0, path='/', cpu=None, body=0):
        self.log = lab.path('client-%d.txt' % len(lab.procs))
        self.proc = lab.spawn([sys.executable, CLIENT, proto, '127.0.0.1:%d' % port,
                               '--conns', conns, '--rate', rate, '--path', path,
                               '--body', body, '--log', self.log],
                              cpu=host.cpu_for_load() if cpu is None else cpu,
                              stop=signal.SIGINT, nice=-15)

    def stop(self):
        self.proc.stop()

    def measure(self, t0, t1):
        good, failed = [], 0
        with open(self.log) as f:
            for line in f:
                words = line.split()
                if len(words) != 2 or not t0 <= float(words[0]) <= t1:
                    continue
                if int(words[1]) < 0:
                    failed += 1
                else:
                    good.append(int(words[1]) / 1000)
        result = {'req/s': len(good) / (t1 - t0)}
        if good:
            good.sort()
            result['p50 ms'] = quantile(good, 0.5)
            result['p99 ms'] = quantile(good, 0.99)
        if failed:
            result['failed'] = failed
        return result


class Wrk:
    """wrk in closed loop; it reports when interrupted."""

    def __init__(self, lab, port, path, conns=32, cpu=None):
        self.proc = lab.spawn(['wrk', '-t', 1, '-c', conns, '-d', FOREVER_S, '--timeout', 30,
                               '--latency', 'http://127.0.0.1:%d%s' % (port, path)],
                              cpu=host.cpu_for_load() if cpu is None else cpu,
                              stop=signal.SIGINT)

    def stop(self):
        self.proc.stop()

    def measure(self, _t0, _t1):
        text = self.proc.text()
        result = {}
        rate = re.search(r'Requests/sec:\s*([\d.]+)', text)
        if rate:
            result['req/s'] = float(rate.group(1))
        for name in ('50', '99'):
            found = re.search(r'\b%s%%\s+([\d.]+)(us|ms|s)' % name, text)
            if found:
                scale = {'us': 0.001, 'ms': 1, 's': 1000}[found.group(2)]
                result['p%s ms' % name] = float(found.group(1)) * scale
        return result


class Progress:
    """A tool that prints a progress line each second (pgbench, sysbench)."""

    def __init__(self, lab, argv, pattern):
        self.pattern = re.compile(pattern)
        self.start = time.monotonic()
        self.proc = lab.spawn(argv)

    def stop(self):
        self.proc.stop()

    def measure(self, t0, t1):
        rows = []
        for found in self.pattern.finditer(self.proc.text()):
            at = self.start + float(found.group(1))
            if t0 + 0.5 <= at <= t1 + 0.5:
                rows.append((float(found.group(2)), float(found.group(3))))
        if not rows:
            return {'tps': 0.0}
        return {'tps': sum(r[0] for r in rows) / len(rows),
                'lat ms': sum(r[1] for r in rows) / len(rows)}


def pgbench(lab, port, *options):
    argv = ['pgbench', '-h', '127.0.0.1', '-p', port, '-U', 'postgres', '-n', '-P', 1,
            '-T', FOREVER_S, *options, 'postgres']
    return Progress(lab, argv, r'progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.naN]+)')


def sysbench(lab, port, test, *options):
    argv = servers.sysbench_args(port, test, '--report-interval=1',
                                 '--time=%d' % FOREVER_S, *options, 'run')
    return Progress(lab, argv, r'\[ (\d+)s \].*? tps: ([\d.]+).*?lat \(ms,95%\): ([\d.]+)')


def redis_mix(lab, port):
    """For learning: all kinds of commands, each at a speed that leaves time for the others."""
    for command in ('PING', 'SET k 1', 'GET k', 'LPUSH l 1', 'SADD s a'):
        yield command, Client(lab, 'redis', port, 2, rate=60, path=command)
    lab.spawn([sys.executable, os.path.join(servers.BIN, 'redis_features.py'),
               '127.0.0.1:%d' % port], cpu=host.cpu_for_load())


class Counter:
    """No load of its own: the growth of a counter that read() gives."""

    def __init__(self, name, read):
        self.name = name
        self.read = read
        self.seen = []

    def mark(self):
        self.seen.append((time.monotonic(), self.read()))

    def stop(self):
        pass

    def measure(self, _t0, _t1):
        (t0, n0), (t1, n1) = self.seen[0], self.seen[-1]
        return {self.name: (n1 - n0) / (t1 - t0)}


class RedisBench(Counter):
    """redis-benchmark in a loop for ever; the rate is read from the server."""

    def __init__(self, lab, port, conns, *test, cpu=None):
        super().__init__('cmd/s', lambda: servers.redis_info(port, 'total_commands_processed'))
        self.proc = lab.spawn(['redis-benchmark', '-p', port, '-c', conns, '-l', '-q', *test],
                              cpu=host.cpu_for_load() if cpu is None else cpu)

    def stop(self):
        self.proc.stop()


class Pipelined:
    """GETs of memcached, so many at a time on each of two connections; counts nothing."""

    def __init__(self, lab, port, cnt=16, conns=2):
        self.procs = [lab.spawn([sys.executable, os.path.join(servers.BIN, 'probe.py'),
                                 'memcached', '127.0.0.1:%d' % port, '--pipeline', cnt],
                                cpu=host.cpu_for_load()) for _ in range(conns)]

    def stop(self):
        for proc in self.procs:
            proc.stop()

    def measure(self, _t0, _t1):
        return {}
