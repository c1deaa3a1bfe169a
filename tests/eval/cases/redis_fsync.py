# SPDX-License-Identifier: Apache-2.0
"""redis syncs its append-only file at every write: fsync."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth


class TheCase(Case):
    name = 'redis-fsync'
    about = 'redis SET with one client, appendfsync always'
    labels = ('waits', 'functions')
    tools = ('redis-server', 'redis-benchmark')
    expect = {
        'degraded': Expect('fsync', resource=r'aof|vd|sd|nvme|xvd|dm-|md'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    truth = Truth('flushAppendOnlyFile')

    def setup(self):
        # The light load has the background sync of every second, which is no fault.
        policy = {'degraded': ('yes', 'always'), 'healthy': ('no', 'no'),
                  'calm': ('yes', 'everysec'), 'learn': ('yes', 'everysec')}[self.variant]
        self.server = servers.redis(self.lab, '--appendonly', policy[0],
                                    '--appendfsync', policy[1])

    def load(self):
        if self.calm:
            self.loads['SET'] = load.Client(self.lab, 'redis', self.server.port, 2, rate=300,
                                            path='SET k 1')
        else:
            self.loads['SET'] = load.RedisBench(self.lab, self.server.port, 1, '-t', 'set')

    def learn_load(self):
        self.loads.update(load.redis_mix(self.lab, self.server.port))

    def select(self):
        return ['-p', str(self.server.pid)]
