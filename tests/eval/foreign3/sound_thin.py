# SPDX-License-Identifier: Apache-2.0
"""thin: some 100 requests a second by two clients, and five connections that are idle."""
from kit import foreign, host, servers

APP = '''
require 'digest'
run lambda { |env|
  body = Digest::SHA256.hexdigest(env['PATH_INFO']) + " ok\\n"
  [200, { 'Content-Type' => 'text/plain', 'Content-Length' => body.size.to_s }, [body]]
}
'''


class TheCase(foreign.Healthy):
    name = 'sound-thin'
    about = 'thin: some 100 requests a second, and five connections that are kept open'

    def setup(self):
        port = host.free_port()
        app = self.lab.write('config.ru', APP)
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['thin', 'start', '-q', '-R', app, '-a', '127.0.0.1', '-p', port, '-e', 'production',
             '--timeout', 60]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=3, pause=30)
        self.talk('seldom', 'tcp', self.server.port, *foreign.GET, conns=5, pause=800)
