# SPDX-License-Identifier: Apache-2.0
"""microsocks passes connections on, with a thread for each, to a service that is quick."""
from kit import foreign, host, servers


class TheCase(foreign.Healthy):
    name = 'sound-microsocks'
    about = 'microsocks: four connections that are kept, some 90 requests a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.behind = servers.upstream(lab, 1)
        self.server = servers.ready(lab, lab.spawn(
            ['microsocks', '-i', '127.0.0.1', '-p', port]), port)

    def load(self):
        where = r'\x7f\x00\x00\x01' + ''.join(r'\x%02x' % b
                                              for b in self.behind.port.to_bytes(2, 'big'))
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=40,
                  opening=(r'>\x05\x01\x00', r'<^\x05\x00', r'>\x05\x01\x00\x01' + where,
                           r'<^\x05\x00.{8}'))
