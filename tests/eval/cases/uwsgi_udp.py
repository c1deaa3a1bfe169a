# SPDX-License-Identifier: Apache-2.0
"""Threads of uwsgi ask a service by UDP that never answers, and give up after a second."""
import sys

from kit import host, load, servers
from kit.case import CALM, Case, Expect

APP = '''
import os, socket

def application(env, start):
    if env['PATH_INFO'] == '/ask':
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(1)
            s.connect(('127.0.0.1', int(os.environ['ASKED'])))
            s.send(b'?')
            try:
                s.recv(500)
            except TimeoutError:
                pass
    start('200 OK', [('Content-Length', '3'), ('Connection', 'close')])
    return [b'ok\\n']
'''
SILENT = '''
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('127.0.0.1', int(sys.argv[1])))
while True:
    s.recv(500)
'''


class TheCase(Case):
    name = 'uwsgi-udp'
    about = 'asks by UDP what does not answer, at most a second each; threads take turns at accept'
    labels = ('extra',)
    tools = ('uwsgi',)
    expect = {
        'degraded': Expect('peer', 'external', resource=r'127\.0\.0\.1:'),
        # Idle threads queue under a lock to accept: that holds nobody up.
        'healthy': Expect('healthy', 'clients', 'cpu-own', why='300 requests a second'),
        'calm': CALM,
    }

    def setup(self):
        asked = host.free_port()
        self.lab.spawn([sys.executable, '-c', SILENT, asked])
        port = host.free_port()
        proc = self.lab.spawn(['uwsgi', '--plugin', 'python3', '--http-socket',
                               '127.0.0.1:%d' % port, '--master', '--processes', 1,
                               '--threads', 8, '--disable-logging', '--wsgi-file',
                               self.lab.write('app.py', APP)], env={'ASKED': str(asked)})
        self.server = servers.ready(self.lab, proc, port)

    def load(self):
        path = '/ask' if self.degraded else '/'
        self.loads[''] = load.Client(self.lab, 'http', self.server.port, 4, path=path,
                                     rate=0 if self.degraded else 50 if self.calm else 300)

    def select(self):
        return ['-p', str(self.server.pid)]
