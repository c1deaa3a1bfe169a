# SPDX-License-Identifier: Apache-2.0
"""The service behind sslh is stopped by a signal for 300 of 600 ms."""
import os
import sys

from kit import foreign, host, servers


class TheCase(foreign.Foreign):
    name = 'sslh-stopped'
    about = 'sslh before a service that gets SIGSTOP for 300 of 600 ms'
    hurts = ('', 'p99 ms', 200)

    def setup(self):
        behind = servers.upstream(self.lab, 0)
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['sslh-select', '-f', '-n', '-u', 'nobody', '-p', '127.0.0.1:%d' % port,
             '--http', '127.0.0.1:%d' % behind.port]), port)
        self.stopper = self.lab.spawn([sys.executable, os.path.join(servers.BIN, 'stopper.py'),
                                       behind.pid, 300, 600])
        self.truth_of = foreign.Named(
            'peer', 'external', 'stopped', what='the service, or what stops it',
            party='|'.join((foreign.process(behind), foreign.address(behind.port),
                            foreign.process(self.stopper))))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=10)
