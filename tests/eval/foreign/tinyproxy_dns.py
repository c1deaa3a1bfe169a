# SPDX-License-Identifier: Apache-2.0
"""tinyproxy asks a name server that does not answer; requests by address are quick."""
from kit import foreign, host, more_servers, servers

CONF = '''
Port %(port)d
Listen 127.0.0.1
Timeout 600
LogLevel Error
LogFile "%(dir)s/log"
MaxClients 50
Allow 127.0.0.1
'''
SILENT = '''
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 53))
while True:
    s.recv(500)
'''


class TheCase(foreign.Foreign):
    name = 'tinyproxy-dns'
    about = 'three clients ask by name, but the name server does not answer; three by address'
    hurts = ('name', 'open', 2)

    def setup(self):
        far = more_servers.RemoteHost(self.lab, 79)
        self.lab.spawn(['ip', 'netns', 'exec', far.name, servers.PYTHON, '-c', SILENT, far.address])
        self.upstream = servers.upstream(self.lab, 0)
        resolv = self.lab.write('resolv.conf', 'nameserver %s\n' % far.address)
        hosts = self.lab.write('nsswitch.conf', 'hosts: files dns\n')
        port = host.free_port()
        conf = self.lab.write('tinyproxy.conf', CONF % {'port': port, 'dir': self.lab.dir})
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['unshare', '-m', 'sh', '-c', 'mount --bind %s $(readlink -f /etc/resolv.conf) && '
             'mount --bind %s /etc/nsswitch.conf && exec tinyproxy -d -c %s'
             % (resolv, hosts, conf)]), port)
        self.truth_of = foreign.Named('external', 'peer', what="the name server's address",
                                      party=foreign.address(53, far.address))

    def load(self):
        for name, where in (('', '127.0.0.1'), ('name', 'www.heldup.test')):
            self.talk(name, 'tcp', self.server.port, r'>GET http://%s:%d/ HTTP/1.0\r\n\r\n'
                      % (where, self.upstream.port), r'<ok\n', conns=3, pause=30, fresh=True)
