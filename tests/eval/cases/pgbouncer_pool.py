# SPDX-License-Identifier: Apache-2.0
"""pgbouncer may use one server connection; the other clients queue in it."""
from kit import load, more_servers, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect


class TheCase(Case):
    name = 'pgbouncer-pool'
    about = 'default_pool_size 1, 16 clients with queries of 5 ms'
    labels = ('extra',)
    tools = ('pgbouncer', 'pgbench')
    expect = {
        'degraded': Expect('conn-limit'),
        # Without the limit each query does take 5 ms in the database.
        'healthy': Expect(*CLOSED_LOOP.classes, 'peer',
                          why='closed loop: each query sleeps 5 ms in the database'),
        'calm': CALM,
    }

    def setup(self):
        self.database = servers.postgres(self.lab)
        self.server = more_servers.pgbouncer(self.lab, self.database.port,
                                             1 if self.degraded else 20)

    def load(self):
        query = 'select 1;\n' if self.calm else 'select pg_sleep(0.005);\n'
        path = self.lab.write('query.sql', query)
        options = ['-c', 4, '-R', 100] if self.calm else ['-c', 16]
        self.loads[''] = load.pgbench(self.lab, self.server.port, '-f', path, *options)

    def select(self):
        return ['-p', str(self.server.pid)]
