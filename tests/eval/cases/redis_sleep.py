# SPDX-License-Identifier: Apache-2.0
"""One client's command makes redis' only thread sleep; all others wait."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect


class TheCase(Case):
    name = 'redis-sleep'
    about = 'DEBUG SLEEP 0.3 by one client beside PINGs'
    labels = ('extra',)
    tools = ('redis-server', 'redis-benchmark')
    expect = {
        'degraded': Expect('loop-blocked', culprit='redis'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        self.server = servers.redis(self.lab, '--enable-debug-command', 'yes')

    def load(self):
        port = self.server.port
        if self.degraded:
            self.loads['sleep'] = load.Client(self.lab, 'redis', port, 1, rate=2,
                                              path='DEBUG SLEEP 0.3')
        if self.variant == 'healthy':
            self.loads['PING'] = load.Client(self.lab, 'redis', port, 4)
        else:
            self.loads['PING'] = load.Client(self.lab, 'redis', port, 4, rate=200)

    def select(self):
        return ['-p', str(self.server.pid)]
