# SPDX-License-Identifier: Apache-2.0
"""lighttpd may have 32 descriptors; clients that leak connections have taken what it allows."""
import os

from kit import foreign, host, servers

CONF = '''
server.document-root = "%(dir)s/www"
server.port = %(port)d
server.bind = "127.0.0.1"
server.max-fds = 32
server.max-read-idle = 300
server.max-keep-alive-idle = 300
'''
LEAK = '''
import socket, sys, time
kept = []
for _ in range(20):
    s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    s.sendall(b'GET /file.txt HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')
    kept.append(s)
time.sleep(600)
'''


class TheCase(foreign.Foreign):
    name = 'lighttpd-fds'
    about = 'server.max-fds = 32, and a program that leaves 20 connections open and idle'
    hurts = ('', 'open', 4)
    truth_of = foreign.Named('conn-limit', what='lighttpd', party='lighttpd')

    def setup(self):
        lab, port = self.lab, host.free_port()
        os.mkdir(lab.path('www'))
        lab.write('www/file.txt', 'ok\n')
        conf = lab.write('lighttpd.conf', CONF % {'dir': lab.dir, 'port': port})
        self.server = servers.ready(lab, lab.spawn(['lighttpd', '-D', '-f', conf]), port)
        lab.spawn([servers.PYTHON, lab.write('leak.py', LEAK), port])

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/file.txt'), conns=4, pause=20,
                  fresh=True)
