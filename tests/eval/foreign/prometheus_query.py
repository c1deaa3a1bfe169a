# SPDX-License-Identifier: Apache-2.0
"""Two clients ask prometheus for a query that computes long; the others wait behind them."""
from kit import foreign, host, load, servers

CONF = '''
global: { scrape_interval: 1s }
scrape_configs:
- job_name: self
  static_configs: [ { targets: ['127.0.0.1:%d'] } ]
'''
HEAVY = '/api/v1/query?query=count_over_time(vector(1)[2h:50ms])'


class TheCase(foreign.Foreign):
    name = 'prometheus-query'
    about = 'GOMAXPROCS=1, two clients with queries that compute long, beside quick ones'
    hurts = ('server', 'cpu', 0.7)
    truth_of = foreign.Named('cpu-own', what='prometheus', party='prometheus')

    def setup(self):
        port = host.free_port()
        conf = self.lab.write('prometheus.yml', CONF % port)
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['prometheus', '--config.file=' + conf, '--log.level=error',
             '--storage.tsdb.path=' + self.lab.path('data'),
             '--web.listen-address=127.0.0.1:%d' % port], env={'GOMAXPROCS': '1'}), port)

    def load(self):
        for name, path, conns in (('', '/api/v1/query?query=up', 2), ('heavy', HEAVY, 2)):
            self.talk(name, 'tcp', self.server.port, foreign.get(path)[0], r'<success.*\}',
                      conns=conns, pause=10)
        self.loads['server'] = load.Counter(
            'cpu', lambda: host.tree_ticks(self.server.pid) / host.TICKS)
