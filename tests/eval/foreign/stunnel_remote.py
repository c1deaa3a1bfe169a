# SPDX-License-Identifier: Apache-2.0
"""stunnel wraps a service of another host that answers after 150 ms."""
from kit import foreign, host, more_servers, servers

CONF = '''
foreground = yes
pid =
cert = %s
[web]
accept = 127.0.0.1:%d
connect = %s:%d
'''


class TheCase(foreign.Foreign):
    name = 'stunnel-remote'
    about = 'stunnel in front of a service on another host that answers after 150 ms'
    hurts = ('', 'p50 ms', 140)

    def setup(self):
        far = more_servers.RemoteHost(self.lab, 78)
        upstream = far.upstream(self.lab, 150)
        port = host.free_port()
        conf = self.lab.write('stunnel.conf', CONF % (foreign.certificate(self.lab), port,
                                                      far.address, upstream.port))
        self.server = servers.ready(self.lab, self.lab.spawn(['stunnel4', conf]), port)
        self.truth_of = foreign.Named('external', 'peer', what='the address of the service',
                                      party=foreign.address(upstream.port, far.address))

    def load(self):
        self.talk('', 'tls', self.server.port, *foreign.GET, conns=6, pause=20)
