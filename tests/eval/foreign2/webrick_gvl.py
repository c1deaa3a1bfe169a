# SPDX-License-Identifier: Apache-2.0
"""Two threads of WEBrick compute in Ruby; the others wait for the interpreter's lock."""
from kit import foreign, host, servers

SERVER = '''
require 'webrick'
quiet = WEBrick::Log.new(File::NULL)
server = WEBrick::HTTPServer.new(BindAddress: '127.0.0.1', Port: ENV['PORT'].to_i,
                                 Logger: quiet, AccessLog: [])
server.mount_proc('/') { |_, answer| answer.body = "ok\\n" }
server.mount_proc('/count') do |_, answer|
  n = 0
  3_000_000.times { |i| n ^= i * 7 }
  answer.body = "ok\\n"
end
server.start
'''


class TheCase(foreign.Foreign):
    name = 'webrick-gvl'
    about = "two clients' requests compute in Ruby, beside quick requests of four"
    hurts = ('', 'p50 ms', 60)

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['ruby', self.lab.write('server.rb', SERVER)], env={'PORT': str(port)}), port)
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', 'cpu-own', what='a thread of ruby',
            party=foreign.process(self.server), function='gvl|thread_sched|vm_exec')

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=20, fresh=True)
        self.talk('count', 'tcp', self.server.port, *foreign.get('/count'), conns=2, fresh=True)
