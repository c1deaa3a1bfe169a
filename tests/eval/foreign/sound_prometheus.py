# SPDX-License-Identifier: Apache-2.0
"""prometheus scrapes itself and answers queries."""
from kit import foreign, host, servers

CONF = '''
global: { scrape_interval: 1s }
scrape_configs:
- job_name: self
  static_configs: [ { targets: ['127.0.0.1:%d'] } ]
'''


class TheCase(foreign.Healthy):
    name = 'sound-prometheus'
    about = 'prometheus: a scrape each second, queries by two clients'

    def setup(self):
        port = host.free_port()
        conf = self.lab.write('prometheus.yml', CONF % port)
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['prometheus', '--config.file=' + conf, '--log.level=error',
             '--storage.tsdb.path=' + self.lab.path('data'),
             '--web.listen-address=127.0.0.1:%d' % port]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, foreign.get('/api/v1/query?query=up')[0],
                  r'<success.*\}', conns=2, pause=30)
