# SPDX-License-Identifier: Apache-2.0
"""Sixteen sessions update one InnoDB row and hold it for 5 ms."""
from kit import load, servers
from kit.case import CLOSED_LOOP, Case, Expect

WORK = '''create procedure work(hot int) begin
declare row_id int;
set row_id = if(hot, 1, 1 + floor(rand() * 20000));
start transaction;
update hot set n = n + 1 where id = row_id;
do sleep(0.005);
commit;
end'''


class TheCase(Case):
    name = 'maria-row-lock'
    about = '16 sessions: update one InnoDB row, sleep 5 ms, commit'
    labels = ('extra',)
    tools = ('mariadbd', 'mariadb-slap')
    expect = {
        'degraded': Expect('lock-held', 'lock-convoy', culprit='mariadb'),
        'healthy': Expect(*CLOSED_LOOP.classes, 'fsync', 'timer',
                          why='closed loop: own sleep, then the journal'),
        'calm': Expect('healthy', 'clients', 'timer', why='one session, own sleep of 5 ms'),
    }

    def setup(self):
        self.server = servers.mariadb(self.lab)
        self.sql('create table hot (id int primary key, n int) engine=innodb;\n'
                 'insert into hot select seq, 0 from seq_1_to_20000;\n'
                 'delimiter //\n' + WORK + '//\n')

    def sql(self, text):
        return self.lab.call(['mariadb', '--no-defaults', *servers.maria_args(self.server.port),
                              '-N', 'sbtest'], stdin_text=text)

    def load(self):
        hot, sessions = int(self.degraded), 1 if self.calm else 16
        self.lab.spawn(['mariadb-slap', '--no-defaults', *servers.maria_args(self.server.port),
                        '--create-schema=sbtest', '--no-drop', '--concurrency=%d' % sessions,
                        '--number-of-queries=10000000', '--query=call work(%d)' % hot])
        self.loads[''] = load.Counter('tps', self.commits)

    def commits(self):
        return int(self.sql("show global status like 'Com_commit'").split()[1])

    def select(self):
        return ['-p', str(self.server.pid)]
