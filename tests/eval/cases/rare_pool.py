# SPDX-License-Identifier: Apache-2.0
"""Once in 4 s four long queries take all of pgbouncer's connections for 300 ms."""
from kit import load, more_servers, servers
from kit.rare import Rare, RareCase

REPORT = 'select pg_sleep(0.3);\n\\sleep 3700 ms\n'
SIZE = 4


class TheCase(RareCase):
    name = 'rare-pool'
    about = 'a pool of 4 is full for 300 ms every 4 s, pgbench -S with 8 clients'
    tools = ('pgbouncer', 'pgbench')
    variants = ('degraded',)

    def setup(self):
        database = servers.postgres(self.lab)
        self.lab.call(['pgbench', '-h', '127.0.0.1', '-p', database.port, '-U', 'postgres',
                       '-i', '-q', '-s', 10, 'postgres'])
        self.server = more_servers.pgbouncer(self.lab, database.port, SIZE)
        # Two names for it: the pool is full, or the database is busy with what fills it.
        self.rare = Rare('conn-limit', 'peer', 'external', stall_ms=300, every_s=4,
                         culprit='^(postgres|pgbouncer)/', resource=r'pool|:%d\b' % database.port)

    def load(self):
        port = self.server.port
        self.loads[''] = load.pgbench(self.lab, port, '-S', '-c', 8)
        self.probe('pg', port)
        self.loads['report'] = load.pgbench(self.lab, port, '-c', SIZE, '-j', SIZE, '-f',
                                            self.lab.write('report.sql', REPORT))

    def select(self):
        return ['-p', str(self.server.pid)]
