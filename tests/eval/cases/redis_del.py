# SPDX-License-Identifier: Apache-2.0
"""A set of three million members is deleted by redis' only thread."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth

FILL = "for i=1,%d do redis.call('sadd', KEYS[1], 'member:' .. i) end"
MEMBERS = 3000000
SETS = 3


class TheCase(Case):
    name = 'redis-del'
    about = 'DEL of a set with 3 million members beside PINGs'
    labels = ('functions',)
    tools = ('redis-server', 'redis-cli')
    expect = {
        'degraded': Expect('loop-blocked', 'cpu-own', culprit='redis'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }
    truth = Truth('delGenericCommand|_dictClear|dictRelease')

    def setup(self):
        self.server = servers.redis(self.lab)
        for i in range(SETS if self.degraded else 0):
            self.lab.call(['redis-cli', '-p', self.server.port, 'EVAL', FILL % MEMBERS, 1,
                           'set%d' % i])

    def load(self):
        self.loads['PING'] = load.Client(self.lab, 'redis', self.server.port, 4,
                                         rate=0 if self.variant == 'healthy' else 200)
        if self.degraded:
            steps = ''.join('sleep 3; redis-cli -p %d del set%d; ' % (self.server.port, i)
                            for i in range(SETS))
            self.lab.spawn(['sh', '-c', steps])

    def learn_load(self):
        self.loads.update(load.redis_mix(self.lab, self.server.port))

    def select(self):
        return ['-p', str(self.server.pid)]
