# SPDX-License-Identifier: Apache-2.0
"""A Python server whose check of an address backtracks."""
import subprocess

from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth

HANDLERS = '''
import re
ADDRESS = re.compile('^([a-z0-9]+[.]?)+@[a-z]+$')

def handle(path):
    path, _, arg = path.partition('?')
    if path == '/check':
        return 'good' if ADDRESS.match(arg) else 'bad'
    if path == '/read':
        return open(__file__).read()[:100]
    return 'plain'
'''

# Where the interpreter says that its method starts: the entry of its table of
# methods, less the place where the program is mapped.
WHERE = '''
import ctypes, re
method = ctypes.cast(id(re.Pattern.match) + 5 * 8, ctypes.POINTER(ctypes.c_void_p))[0]
entry = ctypes.cast(method + 8, ctypes.POINTER(ctypes.c_void_p))[0]
with open('/proc/self/maps') as f:
    rows = [line.split() for line in f]
base = name = None
for row in rows:
    lo, hi = (int(v, 16) for v in row[0].split('-'))
    if lo <= entry < hi:
        name = row[5]
base = min(int(r[0].split('-')[0], 16) for r in rows if len(r) > 5 and r[5] == name)
with open(name, 'rb') as f:
    fixed = f.read(18)[16] == 2
print('%s+0x%x' % (name.rpartition('/')[2], entry if fixed else entry - base))
'''


class TheCase(Case):
    name = 'python-regex'
    about = 'http.server with threads: re.match backtracks on 24 letters'
    labels = ('functions',)
    expect = {
        'degraded': Expect('cpu-own', 'loop-blocked', 'lock-held', 'lock-convoy',
                           culprit='python'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        self.server = servers.python(self.lab, HANDLERS)
        place = subprocess.run([servers.PYTHON, '-c', WHERE], capture_output=True,
                               text=True).stdout.strip()
        self.truth = Truth(place.replace('+', '[+]').replace('.', '[.]'),
                           note='no name in the stripped interpreter: the range of '
                           "re.Pattern.match, from the interpreter's own table of methods")

    def load(self):
        port = self.server.port
        closed = 0 if self.variant == 'healthy' else 40
        self.loads['plain'] = load.Client(self.lab, 'http', port, 4, path='/plain', rate=closed)
        self.loads['read'] = load.Client(self.lab, 'http', port, 2, path='/read', rate=40)
        arg = 'a' * 23 + '!' if self.degraded else 'a@b'
        self.loads['check'] = load.Client(self.lab, 'http', port, 1, path='/check?' + arg,
                                          rate=0.7)

    def learn_load(self):
        for path, rate in (('/plain', 60), ('/read', 80), ('/check?ab@c', 30)):
            self.loads[path] = load.Client(self.lab, 'http', self.server.port, 2, rate=rate,
                                           path=path)

    def select(self):
        return ['-p', str(self.server.pid)]
