# SPDX-License-Identifier: Apache-2.0
"""Eight threads of puma share one connection by a Mutex, which each keeps for 40 ms."""
from kit import foreign, host, servers

APP = '''
LOCK = Mutex.new
run lambda { |env|
  LOCK.synchronize { sleep 0.04 }
  [200, {'Content-Type' => 'text/plain', 'Content-Length' => '3'}, ["ok\\n"]]
}
'''


class TheCase(foreign.Foreign):
    name = 'puma-mutex'
    about = 'eight threads behind a Ruby Mutex, kept 40 ms at a time'
    hurts = ('', 'p50 ms', 200)
    truth_of = foreign.Named('lock-held', 'lock-convoy', what='a thread of puma', party=r'puma')

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['puma', '-q', '-t', '8:8', '-b', 'tcp://127.0.0.1:%d' % port,
             self.lab.write('config.ru', APP)]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=8)
