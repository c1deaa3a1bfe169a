# SPDX-License-Identifier: Apache-2.0
"""A Python server that commits each row of an order for itself."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth

HANDLERS = '''
import os, sqlite3, threading
local = threading.local()
once = threading.Lock()

def base():
    if not hasattr(local, 'db'):
        local.db = sqlite3.connect('orders.db', isolation_level=None, timeout=30)
        with once:
            local.db.execute('create table if not exists rows (a int, b text)')
    return local.db

def handle(path):
    db = base()
    if path == '/order':
        if not EACH:
            db.execute('begin')
        for i in range(20):
            db.execute('insert into rows values (?, ?)', (i, 'x' * 50))
        if not EACH:
            db.execute('commit')
        return 'ordered'
    if path == '/list':
        return str(db.execute('select count(*) from (select 1 from rows limit 50)').fetchone()[0])
    return 'plain'
'''


class TheCase(Case):
    name = 'python-sqlite'
    about = 'http.server with threads: sqlite3 commits at each row'
    labels = ('functions',)
    expect = {
        'degraded': Expect('fsync', 'disk-own', resource=r'orders|vd|sd|nvme|dm-'),
        'healthy': Expect(*CLOSED_LOOP.classes, 'fsync', 'lock-held', why='a commit a request'),
        'calm': Expect(*CALM.classes, 'fsync', why='a commit a request'),
    }
    truth = Truth('sqlite3_step', note='Python 3.11 gives its own functions no names: '
                  'judged by the function of the library that it calls')

    def setup(self):
        self.server = servers.python(self.lab, HANDLERS.replace('EACH', str(self.degraded)))

    def load(self):
        port = self.server.port
        closed = 0 if self.variant == 'healthy' else 40
        self.loads['plain'] = load.Client(self.lab, 'http', port, 4, path='/plain', rate=closed)
        self.loads['list'] = load.Client(self.lab, 'http', port, 2, path='/list', rate=30)
        self.loads['order'] = load.Client(self.lab, 'http', port, 1, path='/order', rate=4)

    def learn_load(self):
        for path, rate in (('/plain', 60), ('/list', 60), ('/order', 10)):
            self.loads[path] = load.Client(self.lab, 'http', self.server.port, 2, rate=rate,
                                           path=path)

    def select(self):
        return ['-p', str(self.server.pid)]
