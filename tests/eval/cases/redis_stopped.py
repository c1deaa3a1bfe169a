# SPDX-License-Identifier: Apache-2.0
"""A program holds redis to a share of the CPU by signals, as cpulimit does."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect

LIMITER = '''
import os, signal, sys, time
pid = int(sys.argv[1])
try:
    while True:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.04)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.06)
finally:
    os.kill(pid, signal.SIGCONT)
'''


class TheCase(Case):
    name = 'redis-stopped'
    about = 'SIGSTOP and SIGCONT by turns: 40 of 100 ms stopped'
    labels = ('extra',)
    tools = ('redis-server',)
    expect = {
        'degraded': Expect('stopped', culprit='python'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        self.server = servers.redis(self.lab)

    def load(self):
        self.loads[''] = load.Client(self.lab, 'redis', self.server.port, 8,
                                     rate=100 if self.calm else 400)
        if self.degraded:
            self.lab.spawn([servers.PYTHON, self.lab.write('limiter.py', LIMITER),
                            self.server.pid])

    def select(self):
        return ['-p', str(self.server.pid)]
