# SPDX-License-Identifier: Apache-2.0
"""One session locks the table and sleeps; all others wait for it."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth


class TheCase(Case):
    name = 'maria-table-lock'
    about = 'lock tables write; select sleep(5) beside sysbench oltp_point_select'
    labels = ('waits', 'functions')
    tools = ('mariadbd', 'sysbench')
    # The table lock is held by a session that does nothing.
    expect = {
        'degraded': Expect('lock-held', culprit='mariadb'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    truth = Truth('MDL_context::acquire_lock')

    def setup(self):
        self.server = servers.mariadb(self.lab)
        self.lab.call(servers.sysbench_args(self.server.port, 'oltp_point_select',
                                            '--table-size=20000', 'prepare'))

    def load(self):
        rate = ['--threads=2', '--rate=200'] if self.calm else ['--threads=8']
        self.loads[''] = load.sysbench(self.lab, self.server.port, 'oltp_point_select',
                                       '--table-size=20000', *rate)
        if self.degraded:
            script = self.lab.write('lock.sql', 'lock tables sbtest1 write; select sleep(5);'
                                    ' unlock tables;\n' * 60)
            self.lab.spawn(['mariadb', *servers.maria_args(self.server.port), 'sbtest'],
                           stdin=open(script))

    def learn_load(self):
        self.loads[''] = load.sysbench(self.lab, self.server.port, 'oltp_read_write',
                                       '--table-size=20000', '--threads=6', '--rate=200')
        script = self.lab.write('lock.sql', 'lock tables sbtest1 write; select sleep(0.01);'
                                ' unlock tables; select sleep(0.3);\n' * 60)
        self.lab.spawn(['mariadb', *servers.maria_args(self.server.port), 'sbtest'],
                       stdin=open(script))

    def select(self):
        return ['-p', str(self.server.pid)]
