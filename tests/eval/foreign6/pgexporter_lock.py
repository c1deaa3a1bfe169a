# SPDX-License-Identifier: Apache-2.0
"""prometheus-postgres-exporter asks a table that a job keeps locked."""
from kit import foreign, host, servers

QUERIES = '''
stock:
  query: "select count(*) as cnt from stock"
  metrics:
    - cnt:
        usage: "GAUGE"
        description: "rows"
'''
JOB = '''
while sleep 0.2; do
	echo 'begin; lock table stock in access exclusive mode; select pg_sleep(0.4); commit;'
done | psql -q -h 127.0.0.1 -p %d -U postgres postgres
'''


class TheCase(foreign.Foreign):
    name = 'pgexporter-lock'
    about = 'each scrape asks PostgreSQL for a table that a job keeps locked for 400 ms at a time'
    hurts = ('', 'p99 ms', 250)
    warm_s = 2

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.pg = servers.postgres(lab)
        servers.psql(lab, self.pg.port, 'create table stock (n int); insert into stock values (1);')
        self.server = servers.ready(lab, lab.spawn(
            ['prometheus-postgres-exporter', '--web.listen-address=127.0.0.1:%d' % port,
             '--extend.query-path=' + lab.write('queries.yaml', QUERIES),
             '--disable-default-metrics', '--disable-settings-metrics'],
            env={'DATA_SOURCE_NAME': 'postgresql://postgres@127.0.0.1:%d/postgres?sslmode=disable'
                 % self.pg.port}), port)
        self.truth_of = foreign.Named(
            'peer', 'external', 'lock-held', 'lock-convoy',
            what='PostgreSQL, or the job that keeps the table locked',
            party=r'postgres/|psql|:%d\b' % self.pg.port)

    def load(self):
        self.lab.spawn(['sh', '-c', JOB % self.pg.port])
        self.talk('', 'tcp', self.server.port,
                  r'>GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n', r'<stock_cnt\{[^}]*\} 1', conns=3,
                  pause=30, fresh=True)
