# SPDX-License-Identifier: Apache-2.0
"""rclone serves files by HTTP and keeps to 600 kB a second for all clients together."""
from kit import foreign, host, servers


class TheCase(foreign.Foreign):
    name = 'rclone-bwlimit'
    about = 'serve http --bwlimit 600k, files of 120 kB, three clients'
    hurts = ('', 'p50 ms', 300)
    warm_s = 2

    def setup(self):
        lab, port = self.lab, host.free_port()
        lab.write('pub/file', 'x' * 120000 + 'end\n')
        self.server = servers.ready(lab, lab.spawn(
            ['rclone', 'serve', 'http', '--config', lab.write('rclone.conf', ''), '--addr',
             '127.0.0.1:%d' % port, '--bwlimit', '600k', '--buffer-size', '0',
             lab.path('pub')]), port)
        self.truth_of = foreign.Named('timer', what='rclone', party='rclone')

    def load(self):
        self.talk('', 'tcp', self.server.port, foreign.get('/file')[0], r'<end\n', conns=3)
