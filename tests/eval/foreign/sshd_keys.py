# SPDX-License-Identifier: Apache-2.0
"""sshd asks a program for each login's keys, and the program takes 400 ms."""
import os
import signal

from kit import foreign, host, servers

CONF = '''
Port %(port)d
ListenAddress 127.0.0.1
HostKey %(dir)s/host
PidFile none
UsePAM no
PermitRootLogin yes
StrictModes no
AuthorizedKeysCommand /run/heldup-eval/keys
AuthorizedKeysCommandUser root
'''
HOME = '/run/heldup-eval'


class Folder:
    """sshd runs the program only from a folder of root's; removed with the lab."""

    def remove(self):
        for name in os.listdir(HOME):
            os.unlink(os.path.join(HOME, name))
        os.rmdir(HOME)


class TheCase(foreign.Foreign):
    name = 'sshd-keys'
    about = 'AuthorizedKeysCommand takes 400 ms before it prints the key'
    hurts = ('', 'p50 ms', 400)
    truth_of = foreign.Named('peer', what='the command, or its sleep', party=r'^(keys|sh|sleep)/|'
                             r'\b(keys|sleep) ?\((pid|tid)')

    def setup(self):
        os.makedirs(HOME, mode=0o755, exist_ok=True)
        self.lab.cgroups.append(Folder())
        for name in ('host', 'me'):
            self.lab.call(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '',
                           '-f', self.lab.path(name)])
        with open(HOME + '/keys', 'w') as f:
            f.write('#!/bin/sh\nsleep 0.4\ncat %s\n' % self.lab.path('me.pub'))
        os.chmod(HOME + '/keys', 0o755)
        os.makedirs('/run/sshd', exist_ok=True)
        port = host.free_port()
        conf = self.lab.write('sshd.conf', CONF % {'port': port, 'dir': self.lab.dir})
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['/usr/sbin/sshd', '-D', '-e', '-f', conf], stop=signal.SIGTERM), port)

    def load(self):
        self.talk('', 'run', foreign.shell(
            ['ssh', '-p', self.server.port, '-i', self.lab.path('me'), '-o', 'BatchMode=yes',
             '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null',
             'root@127.0.0.1', 'true']), conns=3, pause=100)
