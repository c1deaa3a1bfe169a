# SPDX-License-Identifier: Apache-2.0
"""Once in 2 s a session locks the table for 100 ms; all who read it wait."""
from kit import load, servers
from kit.rare import Rare, RareCase

LOCK = '''begin; lock table pgbench_accounts in access exclusive mode;
select pg_sleep(0.1); commit; select pg_sleep(1.9);
'''


class TheCase(RareCase):
    name = 'rare-pg-lock'
    about = 'ACCESS EXCLUSIVE for 100 ms every 2 s, pgbench -S with 8 clients'
    tools = ('pgbench', 'psql')
    rare = Rare('lock-held', stall_ms=100, every_s=2)

    def setup(self):
        self.server = servers.postgres(self.lab)
        self.lab.call(['pgbench', '-h', '127.0.0.1', '-p', self.server.port, '-U', 'postgres',
                       '-i', '-q', '-s', 10, 'postgres'])

    def load(self):
        port = self.server.port
        self.loads[''] = load.pgbench(self.lab, port, '-S', '-c', 8, '-j', 2)
        self.probe('pg', port, 'select abalance from pgbench_accounts where aid = 1')
        if self.degraded:
            script = self.lab.write('lock.sql', "\\o holder\nselect 'pid', pg_backend_pid();\n\\o\n"
                                    + LOCK * 1000)
            session = self.lab.spawn(['psql', '-h', '127.0.0.1', '-p', port, '-U', 'postgres',
                                      '-qAt', 'postgres'], stdin=open(script))
            self.lab.wait_for(session, lambda: self.holder(), 'session')
            self.rare = Rare('lock-held', stall_ms=100, every_s=2,
                             culprit='^postgres/%s$' % self.holder(), function='^pg_sleep$')

    def holder(self):
        try:
            with open(self.lab.path('holder')) as f:
                return f.read().strip().rpartition('|')[2]
        except FileNotFoundError:
            return ''

    def select(self):
        return ['-p', str(self.server.pid)]
