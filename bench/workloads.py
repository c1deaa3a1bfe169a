# SPDX-License-Identifier: Apache-2.0
"""The servers under load whose throughput is measured with and without a watcher.

Each has setup(lab), selection() for heldup, filter for the bpftrace script,
and run(seconds), which gives the throughput of a load of that length.
"""
import os
import pwd
import re
import time

from kit import host, servers
from kit.lab import LabError


def rate_in(text, pattern):
    found = re.search(pattern, text)
    if not found:
        raise LabError('no rate in: ' + text[-200:])
    return float(found.group(1))


class Workload:
    name = about = unit = ''
    aim_percent = 1.5
    published = ''
    tools = ()

    def setup(self, lab):
        raise NotImplementedError

    def run(self, seconds):
        raise NotImplementedError

    def cpu_ticks(self):
        """CPU time of the server's processes so far, with those that ended."""
        return host.tree_ticks(self.server.pid)

    def selection(self):
        return ['-p', str(self.server.pid)]

    def peer_pids(self):
        return [self.server.pid]

    def bpftrace_filter(self):
        return 'pid == %d' % self.server.pid


class RedisGet(Workload):
    name = 'redis-get'
    about = 'redis-benchmark GET, 50 clients, no pipelining'
    unit = 'GET/s'
    aim_percent = 3.0
    published = '29.8'
    tools = ('redis-server', 'redis-benchmark')

    def setup(self, lab):
        self.lab = lab
        self.server = servers.redis(lab)

    def run(self, seconds):
        proc = self.lab.spawn(['redis-benchmark', '-p', self.server.port, '-c', 50, '-P', 1,
                               '-t', 'get', '-l', '-q'])
        time.sleep(0.5)
        key = 'total_commands_processed'
        n0, t0 = servers.redis_info(self.server.port, key), time.monotonic()
        time.sleep(seconds)
        n1, t1 = servers.redis_info(self.server.port, key), time.monotonic()
        proc.stop()
        return (n1 - n0) / (t1 - t0)


class MariaRw(Workload):
    name = 'maria-rw'
    about = 'sysbench oltp_read_write, 4 threads, 2 tables of 20,000 rows'
    unit = 'tps'
    published = '5-8'
    tools = ('mariadbd', 'sysbench')
    options = ('--tables=2', '--table-size=20000')

    def setup(self, lab):
        self.lab = lab
        # The journal is written at each commit and synced once a second: the
        # disk's own scatter would hide what is to be measured.
        self.server = servers.mariadb(lab, '--innodb-flush-log-at-trx-commit=2')
        lab.call(servers.sysbench_args(self.server.port, 'oltp_read_write', *self.options,
                                       'prepare'))

    def run(self, seconds):
        text = self.lab.call(servers.sysbench_args(
            self.server.port, 'oltp_read_write', *self.options, '--threads=4',
            '--time=%d' % seconds, 'run'))
        return rate_in(text, r'transactions:\s+\d+\s+\(([\d.]+) per sec')


class Pgbench(Workload):
    unit = 'tps'
    published = '5-8'
    tools = ('pgbench',)
    options = ()

    def setup(self, lab):
        self.lab = lab
        self.server = servers.postgres(lab, '-c', 'synchronous_commit=off')
        lab.call(['pgbench', '-h', '127.0.0.1', '-p', self.server.port, '-U', 'postgres', '-i',
                  '-q', '-s', 10, 'postgres'])

    def run(self, seconds):
        text = self.lab.call(['pgbench', '-h', '127.0.0.1', '-p', self.server.port, '-U',
                              'postgres', '-n', '-c', 4, '-j', 1, '-T', int(seconds),
                              *self.options, 'postgres'])
        return rate_in(text, r'tps = ([\d.]+)')

    def bpftrace_filter(self):
        return 'uid == %d' % pwd.getpwnam('postgres').pw_uid


class PgTpcb(Pgbench):
    name = 'pg-tpcb'
    about = 'pgbench TPC-B, 4 clients, scale 10, synchronous_commit off'


class PgSelect(Pgbench):
    name = 'pg-select'
    about = 'pgbench -S, 4 clients, scale 10'
    options = ('-S',)


class NginxStatic(Workload):
    name = 'nginx-static'
    about = 'nginx, one worker, a 10 KB file, wrk with 32 connections'
    unit = 'req/s'
    published = '5-8'
    tools = ('nginx', 'wrk')

    def setup(self, lab):
        self.lab = lab
        self.server = servers.nginx(lab, '')

    def run(self, seconds):
        text = self.lab.call(['wrk', '-t', 1, '-c', 32, '-d', int(seconds),
                              'http://127.0.0.1:%d/file' % self.server.port])
        return rate_in(text, r'Requests/sec:\s*([\d.]+)')

    def peer_pids(self):
        return host.children(self.server.pid)

    def bpftrace_filter(self):
        return 'pid == %d' % host.children(self.server.pid)[0]


class Switcher(Workload):
    """Not a server: context switches at a fixed rate, for heldup's own cost."""

    unit = 'switches/s'
    rate = 20000
    tools = ('cc',)

    def __init__(self, name, about, *options):
        self.name = name
        self.about = about
        self.options = options

    def setup(self, lab):
        self.lab = lab
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'switcher.c')
        lab.call(['cc', '-O2', '-std=gnu11', '-pthread', '-o', lab.path('switcher'), source])
        self.start(self.rate)
        # Beside its hops a ring sleeps, and a waker may be preempted: those are
        # switches too.  A second start makes the sum right.
        seen = self.run(2)
        self.server.stop()
        self.start(int(self.rate * self.rate / seen))

    def start(self, rate):
        self.server = self.lab.spawn([self.lab.path('switcher'), '--rate', rate, *self.options])
        time.sleep(2)
        if not self.server.alive():
            raise LabError('switcher: ' + self.server.text())

    def switches(self):
        """Voluntary and other switches of all threads, so far."""
        total = 0
        folder = '/proc/%d/task' % self.server.pid
        for tid in os.listdir(folder):
            with open('%s/%s/status' % (folder, tid)) as f:
                for line in f:
                    if 'ctxt_switches' in line:
                        total += int(line.split()[1])
        return total

    def run(self, seconds):
        n0, t0 = self.switches(), time.monotonic()
        time.sleep(seconds)
        return (self.switches() - n0) / (time.monotonic() - t0)


SERVERS = (RedisGet, MariaRw, PgTpcb, PgSelect, NginxStatic)


def own_cost():
    return (Switcher('20k-switches', '20,000 switches/s by futex, 8 threads',
                     '--threads', 8, '--rings', 2),
            Switcher('20k-pipe', '20,000 switches/s by pipe, 8 threads',
                     '--threads', 8, '--rings', 2, '--pipe'),
            Switcher('5k-threads', '20,000 switches/s spread over 5,000 threads',
                     '--threads', 5000, '--rings', 4))
