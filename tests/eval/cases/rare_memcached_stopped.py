# SPDX-License-Identifier: Apache-2.0
"""Once in 4 s a tool stops memcached for 200 ms, as one that takes its stacks does."""
import os
import sys

from kit import load, more_servers, servers
from kit.rare import Rare, RareCase


class TheCase(RareCase):
    name = 'rare-memcached-stopped'
    about = 'SIGSTOP for 200 ms every 4 s, GETs 16 at a time on two connections'
    tools = ('memcached',)

    def setup(self):
        self.server = more_servers.memcached(self.lab)
        self.rare = Rare('stopped', stall_ms=200, every_s=4)

    def load(self):
        port = self.server.port
        self.loads[''] = load.Pipelined(self.lab, port)
        self.probe('memcached', port)
        if self.degraded:
            tool = self.lab.spawn([sys.executable, os.path.join(servers.BIN, 'stopper.py'),
                                   self.server.pid, 200, 4000])
            self.rare = Rare('stopped', stall_ms=200, every_s=4, culprit='/%d$' % tool.pid)

    def select(self):
        return ['-p', str(self.server.pid)]
