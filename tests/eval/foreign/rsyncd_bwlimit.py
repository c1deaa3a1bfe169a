# SPDX-License-Identifier: Apache-2.0
"""The rsync daemon is told to send 2 MB a second, and sleeps after each block."""
import os

from kit import foreign, host, servers

CONF = '''
use chroot = no
uid = root
gid = root
[data]
path = %s
'''


class TheCase(foreign.Foreign):
    name = 'rsyncd-bwlimit'
    about = 'rsync --daemon --bwlimit=2000, files of 1 MB'
    hurts = ('', 'p50 ms', 400)
    truth_of = foreign.Named('timer', what='rsync', party='rsync', function='sleep_for_bwlimit')

    def setup(self):
        os.mkdir(self.lab.path('data'))
        with open(self.lab.path('data', 'file'), 'wb') as f:
            f.write(os.urandom(1 << 20))
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['rsync', '--daemon', '--no-detach', '--bwlimit=2000', '--address=127.0.0.1',
             '--port=%d' % port, '--config=' + self.lab.write('rsyncd.conf', CONF
                                                              % self.lab.path('data'))]), port)

    def load(self):
        for i in range(2):
            self.talk('' if not i else 'other', 'run', foreign.shell(
                ['rsync', '-I', '--whole-file', 'rsync://127.0.0.1:%d/data/file'
                 % self.server.port, self.lab.path('copy%d' % i)]), conns=1, pause=20)
