# SPDX-License-Identifier: Apache-2.0
"""The limit of pushgateway's heap is below what lives in it: it collects all the time."""
import urllib.request

from kit import foreign, host, servers

JOBS, SERIES = 40, 800


class TheCase(foreign.Foreign):
    name = 'pushgateway-memlimit'
    about = 'GOGC=off and GOMEMLIMIT below what lives in the heap; pushes of small jobs'
    hurts = ('', 'p50 ms', 15)
    warm_s = 2

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            ['prometheus-pushgateway', '--web.listen-address=127.0.0.1:%d' % port],
            env={'GOGC': 'off', 'GOMEMLIMIT': '28MiB'}), port)
        for job in range(JOBS):
            text = '# TYPE m gauge\n' + ''.join('m{n="%d"} %d\n' % (n, n) for n in range(SERIES))
            urllib.request.urlopen(urllib.request.Request(
                'http://127.0.0.1:%d/metrics/job/j%d' % (port, job), text.encode(),
                method='PUT')).read()
        self.truth_of = foreign.Named(
            'cpu-own', 'memory', what="pushgateway's collector",
            party=foreign.process(self.server), function='gcDrain|scanobject|gcAssist|runtime')

    def load(self):
        body = 'done 1\n'
        self.talk('', 'tcp', self.server.port,
                  r'>PUT /metrics/job/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d'
                  r'\r\n\r\ndone 1\n' % len(body), '<HTTP/1.1 200', conns=4)
