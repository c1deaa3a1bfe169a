# SPDX-License-Identifier: Apache-2.0
"""Once in 4 s somebody asks redis for all keys that end so: it looks at 600,000."""
from kit import load, servers
from kit.rare import Rare, RareCase

FILL = "for i = 1, 600000 do redis.call('set', 'user:' .. i, i) end"


class TheCase(RareCase):
    name = 'rare-redis-keys'
    about = 'KEYS *:none of 600,000 every 4 s, redis-benchmark GET with 50 clients'
    tools = ('redis-server', 'redis-benchmark')
    variants = ('degraded',)
    # The handler computes: the loop is blocked by its own CPU, both are true.
    rare = Rare('loop-blocked', 'cpu-own', stall_ms=200, every_s=4,
                function='^(keysCommand|stringmatchlen(_impl)?|dictNext)$')

    def setup(self):
        self.server = servers.redis(self.lab)
        servers.redis_call(self.server.port, 'EVAL', FILL, 0)

    def load(self):
        port = self.server.port
        self.loads['GET'] = load.RedisBench(self.lab, port, 50, '-t', 'get')
        self.probe('redis', port)
        self.loads['KEYS'] = load.Client(self.lab, 'redis', port, 1, rate=1 / 4,
                                         path='KEYS *:none*')

    def select(self):
        return ['-p', str(self.server.pid)]
