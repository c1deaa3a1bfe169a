# SPDX-License-Identifier: Apache-2.0
"""cpulimit holds victoria-metrics to 15 % of a core by stopping and resuming it."""
import time
import urllib.request

from kit import foreign, host, servers

QUERY = '/api/v1/query_range?query=sum(rate(m[5m]))&start=%d&end=%d&step=30'


class TheCase(foreign.Foreign):
    name = 'victoria-cpulimit'
    about = 'cpulimit -l 15 stops and resumes the server; four clients ask for rates'
    hurts = ('', 'p99 ms', 300)
    warm_s = 2

    def setup(self):
        lab, port, now = self.lab, host.free_port(), int(time.time())
        self.server = servers.ready(lab, lab.spawn(
            ['victoria-metrics', '-httpListenAddr=127.0.0.1:%d' % port,
             '-storageDataPath=' + lab.path('data'), '-search.disableCache']), port)
        lines = '\n'.join('m{n="%d"} %d %d' % (n, i, (now - 1800 + 30 * i) * 1000)
                          for n in range(500) for i in range(60))
        base = 'http://127.0.0.1:%d' % port
        urllib.request.urlopen(base + '/api/v1/import/prometheus', lines.encode()).read()
        urllib.request.urlopen(base + '/internal/force_flush').read()
        self.limiter = lab.spawn(['cpulimit', '-p', self.server.pid, '-l', 15])
        self.truth_of = foreign.Named('stopped', what='cpulimit',
                                      party=foreign.process(self.limiter) + '|cpulimit')
        self.query = QUERY % (now - 1800, now)

    def load(self):
        self.talk('', 'tcp', self.server.port,
                  r'>GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' % self.query,
                  r'<"success".*\n0\r\n\r\n|<"success".*[}]\s*$', conns=4, pause=20)
