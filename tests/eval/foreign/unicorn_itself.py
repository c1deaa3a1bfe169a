# SPDX-License-Identifier: Apache-2.0
"""unicorn's one worker asks its own address and so waits for itself, until it gives up."""
from kit import foreign, host, servers

APP = '''
require 'net/http'
run lambda { |env|
  if env['PATH_INFO'] == '/outer'
    begin
      Net::HTTP.start('127.0.0.1', ENV['PORT'].to_i, read_timeout: 2, max_retries: 0) { |h|
        h.get('/inner') }
    rescue Net::ReadTimeout
    end
  end
  [200, {'Content-Type' => 'text/plain'}, ["ok\\n"]]
}
'''


class TheCase(foreign.Foreign):
    name = 'unicorn-itself'
    about = 'the only worker asks its own address and waits 2 s for itself'
    hurts = ('', 'p50 ms', 1500)
    warm_s = 3

    def setup(self):
        port = host.free_port()
        conf = self.lab.write('unicorn.rb', 'worker_processes 1\nlisten "127.0.0.1:%d"\n' % port)
        app = self.lab.write('config.ru', APP)
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['unicorn', '-E', 'none', '-c', conf, app], env={'PORT': str(port)}), port)
        self.truth_of = foreign.Named(
            'deadlock', 'workers', 'conn-limit', 'peer', 'external',
            what='unicorn itself, or its own address',
            party=r'unicorn|ruby|' + foreign.address(port))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/outer'), conns=3, pause=50,
                  fresh=True)
