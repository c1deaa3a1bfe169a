# SPDX-License-Identifier: Apache-2.0
"""One client asks webfsd for a FIFO that nobody writes to; its only thread waits in open()."""
import os

from kit import foreign, host, servers


class TheCase(foreign.Foreign):
    name = 'webfsd-fifo'
    about = 'a client asks for a FIFO among the files; open() keeps the only thread'
    hurts = ('', 'open', 4)
    truth_of = foreign.Named('loop-blocked', 'peer', 'external',
                             what='the FIFO, or webfsd in open', party=r'webfsd|pipe\.txt',
                             function='open')

    def setup(self):
        os.mkdir(self.lab.path('www'))
        self.lab.write('www/file.txt', 'ok\n')
        os.mkfifo(self.lab.path('www', 'pipe.txt'), 0o644)
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['webfsd', '-F', '-i', '127.0.0.1', '-p', port, '-r', self.lab.path('www'), '-4']),
            port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/file.txt'), conns=4, pause=50,
                  fresh=True)
        self.talk('fifo', 'tcp', self.server.port, *foreign.get('/pipe.txt'), conns=1)
