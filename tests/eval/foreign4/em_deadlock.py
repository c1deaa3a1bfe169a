# SPDX-License-Identifier: Apache-2.0
"""Threads of EventMachine's pool take two mutexes in either order, until none goes on."""
from kit import foreign, host, servers

SERVER = '''
require 'eventmachine'

ACCOUNTS = [Mutex.new, Mutex.new]

def move(from, to)
  ACCOUNTS[from].synchronize do
    sleep 0.002		# the rate
    ACCOUNTS[to].synchronize { sleep 0.001 }
  end
end

module Bank
  def receive_data(data)
    from = data.include?('/a') ? 0 : 1
    EM.defer(-> { move(from, 1 - from) }, ->(_) {
      send_data "HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n"
    })
  end
end

EM.threadpool_size = 4
EM.run { EM.start_server '127.0.0.1', ARGV[0].to_i, Bank }
'''


class TheCase(foreign.Foreign):
    name = 'em-deadlock'
    about = 'two mutexes taken in either order by the four threads of EM.defer; six clients'
    hurts = ('', 'open', 4)
    warm_s = 2

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['ruby', self.lab.write('bank.rb', SERVER), port]), port)
        self.truth_of = foreign.Named('deadlock', 'lock-held', what="ruby's threads of the pool",
                                      party=foreign.process(self.server))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/a'), conns=3, pause=5)
        self.talk('b', 'tcp', self.server.port, *foreign.get('/b'), conns=3, pause=5)

    def odd(self, seen):
        waiting = sum(one.get('open', 0) for one in seen.values())
        return '' if waiting >= 6 else '%d open requests' % waiting
