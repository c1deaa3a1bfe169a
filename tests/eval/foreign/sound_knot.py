# SPDX-License-Identifier: Apache-2.0
"""knot answers 300 questions a second."""
from kit import foreign, host

CONF = '''
server:
    listen: 127.0.0.1@%(port)d
    rundir: "%(dir)s"
    user: root
database:
    storage: "%(dir)s"
log:
  - target: stderr
    any: error
zone:
  - domain: x.test
    storage: "%(dir)s"
    file: zone
'''
ZONE = '''x.test. 60 SOA ns.x.test. h.x.test. 1 60 60 60 60
x.test. 60 NS ns.x.test.
x.test. 60 A 192.0.2.1
ns.x.test. 60 A 192.0.2.2
'''


class TheCase(foreign.Healthy):
    name = 'sound-knot'
    about = 'knot, some 300 questions a second'

    def setup(self):
        port = host.free_port()
        self.lab.write('zone', ZONE)
        self.server = self.lab.spawn(['knotd', '-c', self.lab.write('knot.conf', CONF % {
            'port': port, 'dir': self.lab.dir})])
        self.server.port = port
        self.lab.wait_port(self.server, port)

    def load(self):
        self.talk('', 'udp', self.server.port, foreign.dns('x.test'), '<.', conns=3, pause=10,
                  timeout=5)
