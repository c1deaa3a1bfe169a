# SPDX-License-Identifier: Apache-2.0
"""nats-server passes messages from two clients to themselves."""
from kit import foreign, host, servers


class TheCase(foreign.Healthy):
    name = 'sound-nats'
    about = 'nats-server: three clients that publish and get their own message back'

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['nats-server', '-a', '127.0.0.1', '-p', port]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>PUB a 5\r\nhello\r\n', r'<MSG a 1 5\r\nhello\r\n',
                  opening=(r'<INFO .*\r\n', r'>CONNECT {"verbose":false}\r\nSUB a 1\r\nPING\r\n',
                           r'<PONG\r\n'), conns=1, pause=10)
