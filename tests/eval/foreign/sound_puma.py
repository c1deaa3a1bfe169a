# SPDX-License-Identifier: Apache-2.0
"""puma answers 100 requests a second, each with 2 ms of Ruby."""
from kit import foreign, host, servers

APP = '''
run lambda { |env|
  n = 0
  20000.times { |i| n += i }
  [200, {'Content-Type' => 'text/plain', 'Content-Length' => '3'}, ["ok\\n"]]
}
'''


class TheCase(foreign.Healthy):
    name = 'sound-puma'
    about = 'puma with five threads, some 100 requests a second that compute for 1 ms'

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['puma', '-q', '-t', '5:5', '-b', 'tcp://127.0.0.1:%d' % port,
             self.lab.write('config.ru', APP)]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=3, pause=30)
