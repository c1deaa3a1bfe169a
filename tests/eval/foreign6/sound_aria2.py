# SPDX-License-Identifier: Apache-2.0
"""aria2 answers questions by JSON-RPC."""
from kit import foreign, host, servers

BODY = '{"jsonrpc":"2.0","id":"1","method":"aria2.getGlobalStat"}'


class TheCase(foreign.Healthy):
    name = 'sound-aria2'
    about = 'aria2c --enable-rpc, some 70 questions a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            ['aria2c', '--no-conf', '--enable-rpc', '--rpc-listen-port=%d' % port,
             '--dir=' + lab.dir, '--quiet']), port)

    def load(self):
        self.talk('', 'tcp', self.server.port,
                  r'>POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s'
                  % (len(BODY), BODY), r'<uploadSpeed', conns=3, pause=40)
