# SPDX-License-Identifier: Apache-2.0
"""nghttpx with two workers before a service that answers at once."""
from kit import foreign, host, servers


class TheCase(foreign.Healthy):
    name = 'sound-nghttpx'
    about = 'nghttpx with two workers before a service, some 100 requests a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        behind = servers.upstream(lab, 0)
        self.server = servers.ready(lab, lab.spawn(
            ['nghttpx', '-f127.0.0.1,%d;no-tls' % port, '-b127.0.0.1,%d' % behind.port,
             '--workers=2', '--conf=/dev/null', '--errorlog-file=/dev/stderr',
             '--accesslog-file=/dev/null']), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=40)
