# SPDX-License-Identifier: Apache-2.0
"""cupsd looks each client's name up, but the name server does not answer."""
import os

from kit import foreign, host, more_servers, servers

HERE = '10.231.80.1'	# cupsd knows the name of 127.0.0.1
CONF = '''
Listen 127.0.0.1:%(port)d
Listen %(address)s:%(port)d
HostNameLookups On
Browsing Off
DefaultAuthType None
LogLevel none
MaxLogSize 0
<Location />
Order allow,deny
Allow all
</Location>
'''
FILES = '''
AccessLog %(dir)s/access_log
ErrorLog %(dir)s/error_log
PageLog %(dir)s/page_log
CacheDir %(dir)s/cups
RequestRoot %(dir)s/cups
StateDir %(dir)s/cups
TempDir %(dir)s/cups
ServerRoot %(dir)s/cups
'''
SILENT = '''
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 53))
while True:
    s.recv(500)
'''


class TheCase(foreign.Foreign):
    name = 'cups-dns'
    about = 'HostNameLookups On, and a name server that does not answer: seconds each'
    hurts = ('', 'p50 ms', 900)
    warm_s = 2

    def setup(self):
        lab = self.lab
        far = more_servers.RemoteHost(lab, 80)
        lab.spawn(['ip', 'netns', 'exec', far.name, servers.PYTHON, '-c', SILENT, far.address])
        os.mkdir(lab.path('cups'))
        resolv = lab.write('resolv.conf', 'nameserver %s\noptions timeout:1 attempts:1\n'
                           % far.address)
        switch = lab.write('nsswitch.conf', 'passwd: files\ngroup: files\nhosts: dns\n')
        port = host.free_port()
        conf = lab.write('cups/cupsd.conf', CONF % {'port': port, 'address': HERE})
        files = lab.write('cups/cups-files.conf', FILES % {'dir': lab.dir})
        self.server = servers.ready(lab, lab.spawn(
            ['unshare', '-m', 'sh', '-c', 'mount --bind %s $(readlink -f /etc/resolv.conf) && '
             'mount --bind %s /etc/nsswitch.conf && exec cupsd -f -c %s -s %s'
             % (resolv, switch, conf, files)]), port)
        self.truth_of = foreign.Named(
            'external', 'peer', 'loop-blocked', what="the name server's address",
            party=foreign.address(53, far.address),
            function='getnameinfo|gethostbyaddr|res_.*send|httpAddrLookup')

    def load(self):
        self.talk('', 'run', 'curl -s -o /dev/null http://%s:%d/none' % (HERE, self.server.port),
                  conns=3, pause=20)
