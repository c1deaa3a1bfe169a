# SPDX-License-Identifier: Apache-2.0
"""Sixteen clients update one row and hold it for 5 ms: a row lock."""
from kit import load, servers
from kit.case import Case, Expect
from kit.truth import Truth

HOT = '''begin;
update hot set n = n + 1 where id = %s;
select pg_sleep(0.005);
commit;
'''


class TheCase(Case):
    name = 'pg-hot-row'
    about = '16 clients: begin; update one row; pg_sleep(0.005); commit'
    labels = ('waits', 'functions')
    tools = ('pgbench',)
    # Which of the two names a lock gets that is held 5 ms and has 15 waiters is
    # a matter of taste; the holder is another backend.
    expect = {
        'degraded': Expect('lock-held', 'lock-convoy', culprit='postgres'),
        # The transactions sleep 5 ms by their own will and then commit to disk.
        'healthy': Expect('healthy', 'clients', 'cpu-own', 'fsync', 'timer',
                          why='closed loop: own sleep, then the journal'),
        'calm': Expect('healthy', 'clients', 'timer', why='light load, own sleep of 5 ms'),
    }

    truth = Truth('XactLockTableWait|ProcSleep')

    def setup(self):
        self.server = servers.postgres(self.lab)
        servers.psql(self.lab, self.server.port,
                     'create table hot (id int primary key, n int);'
                     'insert into hot select i, 0 from generate_series(1, 100000) i;'
                     'vacuum analyze hot; checkpoint;')

    def load(self):
        script = HOT % '1' if self.degraded else \
            '\\set id random(1, 100000)\n' + HOT % ':id'
        path = self.lab.write('hot.sql', script)
        options = ['-c', 2, '-R', 40] if self.calm else ['-c', 16, '-j', 2]
        self.loads[''] = load.pgbench(self.lab, self.server.port, '-f', path, *options)

    def learn_load(self):
        # A few rows, so that transactions do meet now and then.
        path = self.lab.write('few.sql', '\\set id random(1, 12)\n' + HOT % ':id')
        self.loads[''] = load.pgbench(self.lab, self.server.port, '-f', path, '-c', 6)

    def select(self):
        return ['-p', str(self.server.pid)]
