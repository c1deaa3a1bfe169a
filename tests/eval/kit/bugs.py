# SPDX-License-Identifier: Apache-2.0
"""Cases with the servers of tests/load/bugs: which requests provoke which bug.

The guilty function's name is the server's own word (`NAME --bugs`).
"""
import os
import socket
import subprocess
import sys

from . import host, load, servers
from .case import Case
from .lab import LabError
from .truth import Truth

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), 'build/load/bugs')

# What sound requests there are, and how many a second.
ROUTES = {
    'spool': {'/put': 40, '/get': 80, '/next': 30, '/report': 20, '/page': 60, '/count': 40},
    'relay': {'/quote': 60, '/check': 30, '/cached': 60, '/save': 20, '/load': 30},
    'ledger': {'/transfer': 60, '/balance': 60, '/snapshot': 20, '/history': 60, '/job': 40,
               '/task': 40},
    'codec': {'/packets': 30, '/lookup': 80, '/encode': 30, '/sum': 30, '/names': 40},
    'gate': {'/file': 80, '/name': 40, '/note': 40, '/run': 15, '/hash': 80},
    'mill': {'/order?good': 30, '/upload': 30, '/dump': 5, '/match?aaaa': 40, '/find': 80,
             '/count': 40},
}
BODIES = {'/upload': 900, '/feed': 700}		# with a body of so many bytes


class Dead:
    """A service that does not answer: it refuses, never accepts, or never reads."""

    def __init__(self, lab, kind):
        self.kept = []
        self.port = host.free_port()
        if kind != 'refuses':
            self.listener = socket.socket()
            self.listener.bind(('127.0.0.1', 0))
            self.port = self.listener.getsockname()[1]
            self.listener.listen(0 if kind == 'full' else 64)
            self.kept.append(self.listener)
        for _ in range(4 if kind == 'full' else 0):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(('127.0.0.1', self.port))
            self.kept.append(s)
        lab.cgroups.append(self)	# removed with the lab, as a cgroup is

    def remove(self):
        for s in self.kept:
            s.close()


class BugCase(Case):
    labels = ('functions',)
    group = 'bugs'
    server_name = ''
    bugs = ()
    provoke = {}		# path: requests a second, 0 as fast as answered
    conns = 2			# of each provoking client
    rude = ()			# mode and path of bin/rude.py
    dead = 'refuses'

    def setup(self):
        exe = os.path.join(BUILD, self.server_name)
        if not os.path.exists(exe):
            raise LabError('%s is not built (make load)' % exe)
        folder = self.lab.path('files')
        os.mkdir(folder)
        self.lab.write('files/config', 'x\n')
        self.port = host.free_port()
        argv = [exe, '--port', self.port, '--dir', folder]
        if self.server_name == 'relay':
            argv += ['--upstream', servers.upstream(self.lab, 1).port,
                     '--dead', Dead(self.lab, self.dead).port]
        if self.server_name == 'gate':
            argv += ['--upstream', names_service(self.lab)]
        for bug in self.bugs if self.degraded else ():
            argv += ['--bug', bug]
        self.server = self.start(argv)
        self.lab.wait_port(self.server, self.port)
        self.truth = self.truth or Truth(*guilty(exe, self.bugs))

    def start(self, argv):
        return self.lab.spawn(argv)

    def client(self, path, rate, conns=1):
        self.loads[path] = load.Client(self.lab, 'http', self.port, conns, rate=rate, path=path)

    def load(self):
        for path, rate in ROUTES[self.server_name].items():
            self.client(path, rate)
        for path, rate in self.provoke.items():
            self.client(path, rate, self.conns)
        if self.rude:
            self.lab.spawn([sys.executable, os.path.join(servers.BIN, 'rude.py'), self.rude[0],
                            '127.0.0.1:%d' % self.port, self.rude[1]])

    def learn_load(self):
        """Other requests at other rates: sound ones of the kinds that provoke the bug too."""
        for i, path in enumerate(sorted(ROUTES[self.server_name])):
            self.client(path, 200 + 20 * (i % 4), 8)
        if self.server_name == 'relay':
            for path, size in BODIES.items():
                self.loads[path] = load.Client(self.lab, 'http', self.port, 1, rate=20,
                                               path=path, body=size)

    def select(self):
        return ['-p', str(self.server.pid)]


def names_service(lab):
    port = host.free_port()
    lab.spawn([sys.executable, os.path.join(servers.BIN, 'names.py'), port])
    return port


def guilty(exe, bugs):
    out = subprocess.run([exe, '--bugs'], capture_output=True, text=True).stdout
    table = dict(line.split('\t')[:2] for line in out.splitlines())
    return [table[b] for b in bugs]


class OutsideDisk(BugCase):
    """A sound server whose disk is limited from outside."""

    truth = Truth(outside='disk')
    provoke = {'/put': 300}

    def start(self, argv):
        if not self.degraded:
            return self.lab.spawn(argv)
        group = self.lab.cgroup('blkio')
        dev, _ = host.disk_of(self.lab.dir)
        proc = self.lab.spawn(argv, cgroup=group)
        self.lab.wait_port(proc, self.port)
        group.limit(write_iops=(dev, 5))
        return proc


class OutsideCpu(BugCase):
    """A sound server on a core that others burn."""

    truth = Truth(outside='cpu')
    tools = ('stress-ng',)
    provoke = {'/encode': 0}	# wants all of the core
    conns = 4

    def start(self, argv):
        return self.lab.spawn(argv, cpu=0)

    def load(self):
        super().load()
        for _ in range(3):	# each in a session, and so a scheduling group, of its own
            self.lab.spawn(['stress-ng', '--cpu', 1], cpu=0)


def made(name, server, bugs, about, base=BugCase, **more):
    """A class of cases, as those in cases/ are."""
    return type('TheCase', (base,), {
        'name': 'bug-' + name, 'server_name': server, 'bugs': bugs, 'about': about,
        'variants': ('degraded',), **more})


CASES = (
    made('busy-loop', 'ledger', ('busy-loop',), 'asks again and again whether a job is over',
         provoke={'/task?long': 2}, conns=1),
    made('eof-loop', 'relay', ('eof-loop',), 'reads on after the end of a stream',
         rude=('eof', '/upload')),
    made('eagain-loop', 'relay', ('eagain-loop',), 'EAGAIN answered by the next try',
         rude=('slow', '/feed')),
    made('quad-copy', 'codec', ('quad-copy',), 'moves all that is left for each packet',
         provoke={'/packets?big': 1}, conns=1),
    made('lost-wakeup', 'ledger', ('lost-wakeup',), 'waits for a signal that came before',
         provoke={'/job?long': 1}),
    made('deadlock', 'ledger', ('deadlock',), 'two locks taken in either order',
         provoke={'/transfer': 0}, conns=4),
    made('blocking-connect', 'relay', ('blocking-connect',), 'connect without a limit in time',
         provoke={'/quote?old': 1}, dead='full'),
    made('blocking-read', 'relay', ('blocking-read',), 'read without a limit in time',
         provoke={'/quote?old': 1}, dead='silent'),
    made('tiny-writes', 'spool', ('tiny-writes',), 'a report written byte by byte',
         provoke={'/report?big': 2}, conns=1),
    made('fsync-record', 'spool', ('fsync-record',), 'a journal synced at every record',
         provoke={'/put': 150}, conns=4),
    made('stat-storm', 'spool', ('stat-storm',), 'a file looked for at 6,000 places'),
    made('retry-storm', 'relay', ('retry-storm',), '10,000 tries without a pause',
         provoke={'/check?old': 2}, conns=1),
    made('dir-rescan', 'spool', ('dir-rescan',), 'a directory read again for each message'),
    made('spin', 'codec', ('spin',), 'a search that never ends, without a call',
         provoke={'/lookup?none': 1}, conns=1),
    made('resolver', 'gate', ('resolver',), 'an epoll loop waits for a silent service of names',
         provoke={'/name?old': 1}, conns=1),
    made('fds-close', 'gate', ('fds-close',), 'a child closes all descriptors there could be'),
    made('lock-left', 'mill', ('lock-left',), 'processes wait for a lock file left behind',
         provoke={'/order?bad': 1}, conns=1),
    made('slow-dump', 'mill', ('slow-dump',), 'a lock of all processes held over slow writes'),
    made('two', 'spool', ('tiny-writes', 'stat-storm'), 'two bugs at once',
         provoke={'/report?big': 2}, conns=1),
    made('outside-disk', 'spool', (), 'no bug: the disk is limited to 5 writes a second',
         base=OutsideDisk),
    made('outside-cpu', 'codec', (), 'no bug: others burn the only core', base=OutsideCpu),
)
