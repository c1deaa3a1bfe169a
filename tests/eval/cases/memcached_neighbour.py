# SPDX-License-Identifier: Apache-2.0
"""memcached shares its core with stress-ng."""
from kit import load, more_servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect


class TheCase(Case):
    name = 'memcached-neighbour'
    about = 'memcached with one thread on a core that stress-ng uses too'
    labels = ('extra',)
    tools = ('memcached', 'stress-ng')
    expect = {
        'degraded': Expect('cpu-neighbour', resource='(?i)cpu', culprit='stress-ng'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        self.server = more_servers.memcached(self.lab, cpu=0)

    def load(self):
        if self.degraded:
            self.lab.spawn(['stress-ng', '--cpu', 4], cpu=0)
        rate = 200 if self.calm else 0
        self.loads['get'] = load.Client(self.lab, 'memcached', self.server.port, 8, rate=rate)

    def select(self):
        return ['-p', str(self.server.pid)]
