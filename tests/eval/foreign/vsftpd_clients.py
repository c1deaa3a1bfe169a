# SPDX-License-Identifier: Apache-2.0
"""Clients of vsftpd read 300 kB a second."""
import os

from kit import foreign, host, servers

CONF = '''
listen=YES
listen_address=127.0.0.1
listen_port=%d
background=NO
anonymous_enable=YES
anon_root=%s
secure_chroot_dir=%s
no_anon_password=YES
seccomp_sandbox=NO
'''


class TheCase(foreign.Foreign):
    name = 'vsftpd-clients'
    about = 'three clients that read a file of 40 MB at 300 kB a second'
    hurts = ('', 'open', 3)
    truth_of = foreign.Named('clients', what='the clients')

    def setup(self):
        for name in ('ftp', 'empty'):
            os.mkdir(self.lab.path(name), 0o555)
        self.lab.write('ftp/file', 'x' * 40000000)
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['vsftpd', self.lab.write('vsftpd.conf', CONF % (
                port, self.lab.path('ftp'), self.lab.path('empty')))]), port)

    def load(self):
        self.talk('', 'run', foreign.shell(
            ['curl', '-s', '--limit-rate', '300k', '-o', '/dev/null',
             'ftp://127.0.0.1:%d/file' % self.server.port]), conns=3)
