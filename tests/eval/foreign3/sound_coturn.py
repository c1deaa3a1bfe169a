# SPDX-License-Identifier: Apache-2.0
"""coturn tells clients their address (STUN), some 60 times a second."""
from kit import foreign, host

BIND = r'>\x00\x01\x00\x00\x21\x12\xa4\x42heldupheldup'


class TheCase(foreign.Healthy):
    name = 'sound-coturn'
    about = 'coturn answers some 60 STUN requests a second with two relay threads'

    def setup(self):
        lab, port = self.lab, host.free_port()
        conf = lab.write('turn.conf', '')
        self.server = lab.spawn(
            ['turnserver', '-c', conf, '-L', '127.0.0.1', '-p', port, '-m', 2, '--no-tls',
             '--no-dtls', '--no-cli', '-z', '--pidfile', lab.path('pid'), '--log-file', 'stdout',
             '--simple-log', '--userdb', lab.path('turn.db')])
        lab.wait_port(self.server, port)
        self.server.port = port

    def load(self):
        self.talk('', 'udp', self.server.port, BIND, r'<^\x01\x01', conns=2, pause=30, timeout=5)
