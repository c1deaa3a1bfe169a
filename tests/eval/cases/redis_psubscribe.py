# SPDX-License-Identifier: Apache-2.0
"""PSUBSCRIBE with many patterns is quadratic in this version of redis."""
import sys

from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth

CLIENT = '''
import socket, sys, time
port, cnt, wait_s = (int(v) for v in sys.argv[1:])
time.sleep(wait_s)
words = [b'PSUBSCRIBE'] + [b'pattern:%d:*' % i for i in range(cnt)]
with socket.create_connection(('127.0.0.1', port)) as s:
    s.sendall(b'*%d\\r\\n' % len(words))
    s.sendall(b''.join(b'$%d\\r\\n%s\\r\\n' % (len(w), w) for w in words))
    while s.recv(1 << 16):
        pass
'''


class TheCase(Case):
    name = 'redis-psubscribe'
    about = 'PSUBSCRIBE with 40,000 patterns beside PINGs'
    labels = ('functions',)
    tools = ('redis-server',)
    expect = {
        'degraded': Expect('loop-blocked', 'cpu-own', culprit='redis'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }
    truth = Truth('pubsubSubscribePattern|listSearchKey')

    def setup(self):
        self.server = servers.redis(self.lab)

    def load(self):
        self.loads['PING'] = load.Client(self.lab, 'redis', self.server.port, 4,
                                         rate=0 if self.variant == 'healthy' else 200)
        if self.degraded:
            self.subscribe(40000, 4)

    def subscribe(self, cnt, wait_s):
        self.lab.spawn([sys.executable, self.lab.write('subscribe.py', CLIENT),
                        self.server.port, cnt, wait_s])

    def learn_load(self):
        self.loads.update(load.redis_mix(self.lab, self.server.port))

    def select(self):
        return ['-p', str(self.server.pid)]
