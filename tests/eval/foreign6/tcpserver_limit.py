# SPDX-License-Identifier: Apache-2.0
"""tcpserver runs a program for each connection, two at a time."""
from kit import foreign, host, servers


class TheCase(foreign.Foreign):
    name = 'tcpserver-limit'
    about = 'tcpserver -c 2 with a program of 120 ms; six clients'
    hurts = ('', 'p50 ms', 250)

    def setup(self):
        lab, port = self.lab, host.free_port()
        program = lab.write('program', '#!/bin/sh\nsleep 0.12\necho ok\n', 0o755)
        self.server = servers.ready(lab, lab.spawn(
            ['tcpserver', '-H', '-R', '-l', '0', '-c', 2, '-b', 64, '127.0.0.1', port, program]),
            port)
        self.truth_of = foreign.Named(
            'conn-limit', 'workers', 'peer', what='tcpserver, or the program that it runs',
            party=foreign.process(self.server) + '|program|sleep')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'<ok\n', conns=6, fresh=True)
