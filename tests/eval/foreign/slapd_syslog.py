# SPDX-License-Identifier: Apache-2.0
"""slapd logs each operation to a socket whose reader takes 5 ms for each line."""
import os
import stat
import sys

from kit import foreign, host, servers

CONF = '''
include /etc/ldap/schema/core.schema
pidfile %(dir)s/slapd.pid
modulepath /usr/lib/ldap
moduleload back_mdb
loglevel 256
database mdb
suffix "dc=x"
directory %(dir)s/db
'''
READER = '''
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    s.recv(8192)
    time.sleep(0.005)
'''
ROOT_ENTRY = (r'>\x30\x25\x02\x01\x02\x63\x20\x04\x00\x0a\x01\x00\x0a\x01\x00\x02\x01\x00\x02\x01'
              r'\x00\x01\x01\x00\x87\x0bobjectClass\x30\x00')


class TheCase(foreign.Foreign):
    name = 'slapd-syslog'
    about = 'slapd writes each operation to /dev/log, whose reader takes 5 ms a line'
    hurts = ('', 'p50 ms', 20)

    def setup(self):
        dev = self.lab.path('dev')
        for folder in (dev, self.lab.path('db')):
            os.mkdir(folder)
        for name in ('null', 'zero', 'random', 'urandom'):
            os.mknod(os.path.join(dev, name), 0o666 | stat.S_IFCHR, os.stat('/dev/' + name).st_rdev)
        log = os.path.join(dev, 'log')
        reader = self.lab.spawn([sys.executable, self.lab.write('reader.py', READER), log])
        self.lab.wait_for(reader, lambda: os.path.exists(log), 'socket')
        port = host.free_port()
        conf = self.lab.write('slapd.conf', CONF % {'dir': self.lab.dir})
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['unshare', '-m', 'sh', '-c', 'mount --bind %s /dev && exec slapd -d 0 -f %s -h '
             'ldap://127.0.0.1:%d' % (dev, conf, port)]), port)
        self.truth_of = foreign.Named('peer', 'external', what='the reader of the log socket',
                                      party=foreign.process(reader) + '|dev/log')

    def load(self):
        self.talk('', 'tcp', self.server.port, ROOT_ENTRY, r'<\x65\x07\x0a\x01', conns=6)
