# SPDX-License-Identifier: Apache-2.0
"""Before clamd loads its signatures anew its main thread waits until the idle threads have ended.

They end by their own time-out of 30 s (IdleTimeout), as no other thread hands them work.
"""
import hashlib
import os

from kit import foreign, host, servers

CONF = '''
Foreground yes
TCPSocket %(port)d
TCPAddr 127.0.0.1
DatabaseDirectory %(dir)s/db
TemporaryDirectory %(dir)s
User root
MaxThreads 6
SelfCheck 0
ConcurrentDatabaseReload no
'''
UPDATER = '''
import socket, sys, time
time.sleep(1)
with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as s:
    s.sendall(b'zRELOAD\\0')
    s.recv(100)
time.sleep(600)
'''
SIGNATURES = 20_000


class TheCase(foreign.Foreign):
    name = 'clamd-reload'
    about = 'ConcurrentDatabaseReload no: a reload waits for idle threads, which end after 30 s'
    hurts = ('', 'open', 3)
    warm_s = 1

    def setup(self):
        lab, port = self.lab, host.free_port()
        os.mkdir(lab.path('db'))
        with open(lab.path('db/site.hdb'), 'w') as f:
            for i in range(SIGNATURES):
                f.write('%s:%d:Site-%d\n' % (hashlib.md5(b'%d' % i).hexdigest(), 1000 + i, i))
        conf = lab.write('clamd.conf', CONF % {'dir': lab.dir, 'port': port})
        self.server = servers.ready(lab, lab.spawn(['clamd', '-c', conf]), port)
        self.truth_of = foreign.Named(
            'deadlock', 'lock-held', 'loop-blocked', 'timer',
            what='clamd, whose main thread waits for its idle threads', party=r'clamd')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>zINSTREAM\x00\x00\x00\x00\x05hello'
                  r'\x00\x00\x00\x00', r'<OK\x00', conns=3, pause=10, fresh=True)
        self.lab.spawn([servers.PYTHON, self.lab.write('updater.py', UPDATER),
                        self.server.port])
