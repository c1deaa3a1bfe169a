# SPDX-License-Identifier: Apache-2.0
"""Once in 3 s a client's command makes redis' only thread sleep for 300 ms."""
from kit import load, servers
from kit.rare import Rare, RareCase


class TheCase(RareCase):
    name = 'rare-redis-sleep'
    about = 'DEBUG SLEEP 0.3 every 3 s, redis-benchmark GET with 50 clients'
    tools = ('redis-server', 'redis-benchmark')
    rare = Rare('loop-blocked', 'timer', stall_ms=300, every_s=3, function='^debugCommand$')

    def setup(self):
        self.server = servers.redis(self.lab, '--enable-debug-command', 'yes')

    def load(self):
        port = self.server.port
        self.loads['GET'] = load.RedisBench(self.lab, port, 50, '-t', 'get')
        self.probe('redis', port)
        if self.degraded:
            self.loads['sleep'] = load.Client(self.lab, 'redis', port, 1, rate=1 / 3,
                                              path='DEBUG SLEEP 0.3')

    def select(self):
        return ['-p', str(self.server.pid)]
