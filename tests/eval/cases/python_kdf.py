# SPDX-License-Identifier: Apache-2.0
"""A threaded Python server in which one kind of request derives a key."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth

HANDLERS = '''
import hashlib

def handle(path):
    if path == '/key':
        return hashlib.pbkdf2_hmac('sha512', b'secret', b'salt', ROUNDS).hex()
    if path == '/read':
        return open(__file__).read()[:100]
    return 'plain'
'''


class TheCase(Case):
    name = 'python-kdf'
    about = 'http.server with threads: hashlib.pbkdf2_hmac with 300,000 rounds'
    labels = ('functions',)
    expect = {
        'degraded': Expect('cpu-own', 'loop-blocked', culprit='python'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }
    truth = Truth('PKCS5_PBKDF2_HMAC', note='Python 3.11 gives its own functions no names: '
                  'judged by the function of the C library that it calls')

    def setup(self):
        rounds = 300000 if self.degraded else 1000
        self.server = servers.python(self.lab, HANDLERS.replace('ROUNDS', str(rounds)))

    def load(self):
        port = self.server.port
        closed = 0 if self.variant == 'healthy' else 40
        self.loads['plain'] = load.Client(self.lab, 'http', port, 4, path='/plain', rate=closed)
        self.loads['read'] = load.Client(self.lab, 'http', port, 2, path='/read', rate=40)
        self.loads['key'] = load.Client(self.lab, 'http', port, 2, path='/key', rate=2)

    def learn_load(self):
        for path, rate in (('/plain', 60), ('/read', 80), ('/key', 30)):
            self.loads[path] = load.Client(self.lab, 'http', self.server.port, 2, rate=rate,
                                           path=path)

    def select(self):
        return ['-p', str(self.server.pid)]
