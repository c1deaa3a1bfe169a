# SPDX-License-Identifier: Apache-2.0
"""redir forks a process for each connection to a service that is slow."""
from kit import foreign, host, servers


class TheCase(foreign.Foreign):
    name = 'redir-behind'
    about = 'redir passes connections on to a service that answers after 150 ms; four clients'
    hurts = ('', 'p50 ms', 120)

    def setup(self):
        lab, port = self.lab, host.free_port()
        behind = servers.upstream(lab, 150)
        self.server = servers.ready(lab, lab.spawn(
            ['redir', '-n', '127.0.0.1:%d' % port, '127.0.0.1:%d' % behind.port]), port)
        self.truth_of = foreign.Named('peer', 'external', what='the service',
                                      party='%s|:%d' % (foreign.process(behind), behind.port))

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET / HTTP/1.0\r\nHost: localhost\r\n\r\n',
                  r'<\r\n\r\n', conns=4, fresh=True)
