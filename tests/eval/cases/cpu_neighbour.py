# SPDX-License-Identifier: Apache-2.0
"""redis shares its core with stress-ng: the CPU is taken by a neighbour."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect


class TheCase(Case):
    name = 'cpu-neighbour'
    about = 'redis pinned to a core that stress-ng uses too'
    tools = ('redis-server', 'redis-benchmark', 'stress-ng')
    expect = {
        'degraded': Expect('cpu-neighbour', resource='(?i)cpu', culprit='stress-ng'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        self.server = servers.redis(self.lab, cpu=0)

    def load(self):
        if self.degraded:
            self.lab.spawn(['stress-ng', '--cpu', 3, '--cpu-method', 'int64'], cpu=0)
        if not self.calm:
            self.loads['GET'] = load.RedisBench(self.lab, self.server.port, 8, '-t', 'get')
        self.loads['PING'] = load.Client(self.lab, 'redis', self.server.port, 2, rate=200)

    def select(self):
        return ['-p', str(self.server.pid)]
