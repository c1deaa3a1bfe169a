# SPDX-License-Identifier: Apache-2.0
"""A long script in redis' only thread; all others wait for its end."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect

SCRIPT = "EVAL 'local x = 0 for i = 1, 30000000 do x = x + i end return x' 0"


class TheCase(Case):
    name = 'redis-lua'
    about = 'a Lua loop of some 100 ms, four times a second, beside PINGs'
    labels = ('extra',)
    tools = ('redis-server',)
    # The loop is blocked by a handler that computes: its own CPU, both are true.
    expect = {
        'degraded': Expect('loop-blocked', 'cpu-own', culprit='redis'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        self.server = servers.redis(self.lab)

    def load(self):
        port = self.server.port
        if self.degraded:
            self.loads['script'] = load.Client(self.lab, 'redis', port, 1, rate=4, path=SCRIPT)
        if self.variant == 'healthy':
            self.loads['PING'] = load.Client(self.lab, 'redis', port, 4)
        else:
            self.loads['PING'] = load.Client(self.lab, 'redis', port, 4, rate=200)

    def select(self):
        return ['-p', str(self.server.pid)]
