# SPDX-License-Identifier: Apache-2.0
"""One client of tarantool calls a Lua function that computes for 250 ms; the others do not."""
from kit import foreign, host, servers

SCRIPT = '''
box.cfg{log_level = 2, wal_mode = 'none', checkpoint_interval = 0, memtx_memory = 33554432}
function quick() return 'quick' end
function slow()
  local clock, s, stop = require('clock'), 0, require('clock').monotonic() + 0.25
  while clock.monotonic() < stop do for i = 1, 10000 do s = s + i %% 7 end end
  return 'slow'
end
require('console').listen('127.0.0.1:%d')
'''


class TheCase(foreign.Foreign):
    name = 'tarantool-loop'
    about = 'a Lua function computes for 250 ms, twice a second, beside quick calls'
    hurts = ('', 'p99 ms', 200)
    truth_of = foreign.Named('loop-blocked', what='tarantool', party=r'tarantool')

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['tarantool', self.lab.write('init.lua', SCRIPT % port)]), port)

    def load(self):
        for name, conns, pause in (('quick', 4, 20), ('slow', 1, 250)):
            self.talk(name if name == 'slow' else '', 'tcp', self.server.port,
                      r'>return %s()\n' % name, r'<\n\.\.\.\n', conns=conns, pause=pause,
                      opening=[r"<interactive help *\n"])
