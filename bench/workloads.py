# SPDX-License-Identifier: Apache-2.0
"""The servers under load whose throughput is measured with and without a watcher.

Each has setup(lab), selection() for heldup, filter for the bpftrace script,
and run(seconds), which gives the throughput over that time.

The load goes on from the first run to the last, so that runs with and without a
watcher differ in nothing but that: a load that is started anew finds other
places on the CPUs, which moves its throughput by more than a watcher does.
"""
import os
import pwd
import re
import time
import urllib.request

from kit import host, servers
from kit.lab import LabError


DAY_S = 86400


class Reported:
    """Reads the lines that a load generator prints each second: how far it has come."""

    def __init__(self, proc, pattern):
        self.proc, self.pattern = proc, re.compile(pattern)

    def lines(self):
        return [(float(at), float(rate)) for at, rate in self.pattern.findall(self.proc.text())]

    def next(self):
        """(seconds, requests) at the next line: both of the generator's own clock."""
        end, before = time.monotonic() + 10, len(self.lines())
        while time.monotonic() < end and self.proc.alive():
            lines = self.lines()
            if len(lines) > before:
                times = [0.0] + [at for at, _ in lines]
                return lines[-1][0], sum(rate * (at - since) for (at, rate), since
                                         in zip(lines, times))
            time.sleep(0.01)
        raise LabError('the load ended: ' + self.proc.text()[-200:])


class Workload:
    name = about = unit = ''
    aim_percent = 1.5
    published = ''
    tools = ()
    loading = None
    warm_s = 2
    options = ()
    request_bytes = None	# of one request, as the server receives it; None: asked the generator

    def setup(self, lab):
        raise NotImplementedError

    def load(self):
        """The arguments of a load that goes on for a day."""
        raise NotImplementedError

    def counted(self):
        """(a time in seconds, requests done until then)"""
        raise NotImplementedError

    def start(self):
        if not self.loading or not self.loading.alive():
            self.loading = self.lab.spawn(self.load())
            time.sleep(2)		# connections

    def run(self, seconds):
        self.start()
        t0, n0 = self.counted()
        time.sleep(seconds)
        t1, n1 = self.counted()
        if n1 <= n0:
            raise LabError('%s: nothing was done: %s' % (self.name, self.loading.text()[-200:]))
        return (n1 - n0) / (t1 - t0)

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
    aim_percent = 2.0
    request_bytes = 36
    published = '29.8'
    depth = 1
    tools = ('redis-server', 'redis-benchmark')

    def setup(self, lab):
        self.lab = lab
        self.server = servers.redis(lab)

    def load(self):
        return ['redis-benchmark', '-p', self.server.port, '-c', 50, '-P', self.depth, '-t', 'get',
                '-n', 2000000000, '-q']		# with -l it connects anew again and again

    def counted(self):
        done = servers.redis_info(self.server.port, 'total_commands_processed')
        return time.monotonic(), done


class RedisPipeline(RedisGet):
    name = 'redis-pipeline'
    about = 'redis-benchmark GET, 50 clients, 16 at a time'
    depth = 16


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

    def load(self):
        return servers.sysbench_args(
            self.server.port, 'oltp_read_write', *self.options, '--threads=4',
            '--report-interval=1', '--time=%d' % DAY_S, 'run')

    def counted(self):
        return Reported(self.loading, r'\[ (\d+)s \].* tps: ([\d.]+)').next()


class Pgbench(Workload):
    unit = 'tps'
    published = '5-8'
    tools = ('pgbench',)
    clients = 8

    def setup(self, lab):
        self.lab = lab
        self.server = servers.postgres(lab, '-c', 'synchronous_commit=off')
        lab.call(['pgbench', '-h', '127.0.0.1', '-p', self.server.port, '-U', 'postgres', '-i',
                  '-q', '-s', 10, 'postgres'])

    def load(self):
        return ['pgbench', '-h', '127.0.0.1', '-p', self.server.port, '-U', 'postgres', '-n', '-c',
                self.clients, '-j', 1, '-T', DAY_S, '-P', 1, *self.options, 'postgres']

    def counted(self):
        return Reported(self.loading, r'progress: ([\d.]+) s, ([\d.]+) tps').next()

    def bpftrace_filter(self):
        return 'uid == %d' % pwd.getpwnam('postgres').pw_uid


class PgTpcb(Pgbench):
    name = 'pg-tpcb'
    about = 'pgbench TPC-B, 8 clients, scale 10, synchronous_commit off'


class PgSelect(Pgbench):
    name = 'pg-select'
    about = 'pgbench -S, 8 clients, scale 10'
    options = ('-S',)


class NginxStatic(Workload):
    name = 'nginx-static'
    about = 'nginx, one worker, a 10 KB file, wrk with 32 connections'
    unit = 'req/s'
    published = '5-8'
    tools = ('nginx', 'wrk')

    def setup(self, lab):
        self.lab = lab
        self.server = servers.nginx(lab, 'location = /status { stub_status; }')

    def load(self):
        return ['wrk', '-t', 1, '-c', 32, '-d', DAY_S,
                'http://127.0.0.1:%d/file' % self.server.port]

    def counted(self):
        url = 'http://127.0.0.1:%d/status' % self.server.port
        with urllib.request.urlopen(url, timeout=10) as answer:
            text = answer.read().decode()
        return time.monotonic(), int(text.split('requests')[1].split()[2])

    def peer_pids(self):
        return host.children(self.server.pid)

    def bpftrace_filter(self):
        return 'pid == %d' % host.children(self.server.pid)[0]


class Wrk(Workload):
    """wrk with 32 connections asks for a short answer."""

    unit = 'req/s'
    path = '/'

    def load(self):
        return ['wrk', '-t', 1, '-c', 32, '-d', DAY_S,
                'http://127.0.0.1:%d%s' % (self.server.port, self.path)]

    @property
    def request_bytes(self):
        return len('GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n' % (self.path, self.server.port))


class NginxSmall(Wrk):
    name = 'nginx-small'
    about = 'nginx, one worker, a file of 6 bytes, wrk with 32 connections'
    tools = ('nginx', 'wrk')
    path = '/small'

    def setup(self, lab):
        self.lab = lab
        self.server = servers.nginx(lab, '')

    def peer_pids(self):
        return host.children(self.server.pid)

    def bpftrace_filter(self):
        return 'pid == %d' % host.children(self.server.pid)[0]


NODE = '''
require('http').createServer((req, res) => res.end('plain')).listen(+process.env.PORT, '127.0.0.1');
'''


class NodeHttp(Wrk):
    name = 'node-http'
    about = 'node, a short answer, wrk with 32 connections'
    tools = ('node', 'wrk')

    def setup(self, lab):
        self.lab = lab
        self.server = servers.node(lab, NODE)


JAVA = '''
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Server {
    public static void main(String[] args) throws Exception {
        var address = new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0]));
        var server = HttpServer.create(address, 256);

        server.setExecutor(Executors.newFixedThreadPool(16));
        server.createContext("/", ask -> {
            ask.sendResponseHeaders(200, 3);
            ask.getResponseBody().write("ok\\n".getBytes());
            ask.close();
        });
        server.start();
    }
}
'''


class JavaHttp(Wrk):
    name = 'java-http'
    about = 'com.sun.net.httpserver, 16 threads, wrk with 32 connections'
    tools = ('java', 'javac', 'wrk')
    warm_s = 10		# until the compiler is through

    def setup(self, lab):
        self.lab = lab
        lab.call(['javac', '-d', lab.dir, lab.write('Server.java', JAVA)])
        port = host.free_port()
        proc = lab.spawn(['java', '-Xmx256m', '-Dsun.net.httpserver.nodelay=true', '-cp',
                          lab.dir, 'Server', port])
        self.server = servers.ready(lab, proc, port)


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


SERVERS = (RedisGet, MariaRw, PgTpcb, PgSelect, NginxStatic)	# of bench/stacks and bench/calls
COST = (RedisGet, RedisPipeline, NginxSmall, PgSelect, PgTpcb, MariaRw, NodeHttp, JavaHttp)


def own_cost():
    return (Switcher('20k-switches', '20,000 switches/s by futex, 8 threads',
                     '--threads', 8, '--rings', 2),
            Switcher('20k-pipe', '20,000 switches/s by pipe, 8 threads',
                     '--threads', 8, '--rings', 2, '--pipe'),
            Switcher('5k-threads', '20,000 switches/s spread over 5,000 threads',
                     '--threads', 5000, '--rings', 4))
