# SPDX-License-Identifier: Apache-2.0
"""Apache has two worker processes, both inside a CGI script that sleeps."""
from kit import load, more_servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect

CGI = {'slow': '#!/bin/sh\nsleep 0.2\nprintf "Content-Type: text/plain\\n\\nok\\n"\n'}


class TheCase(Case):
    name = 'apache-workers'
    about = 'prefork, MaxRequestWorkers 2, 8 clients on a CGI that sleeps 200 ms'
    labels = ('extra',)
    tools = ('apache2', 'wrk')
    # Two names for one thing: too few workers, or clients in the listen backlog.
    expect = {
        'degraded': Expect('workers', 'conn-limit'),
        # A connection each: the kernel's own work fills the cores.
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        self.server = more_servers.apache(self.lab, 2 if self.degraded else 16, CGI)

    def load(self):
        port = self.server.port
        if self.degraded:
            self.loads['cgi'] = load.Client(self.lab, 'http', port, 8, path='/cgi/slow')
        elif self.calm:
            self.loads['file'] = load.Client(self.lab, 'http', port, 2, rate=50,
                                             path='/file.txt')
        else:
            self.loads['file'] = load.Client(self.lab, 'http', port, 4, path='/file.txt')

    def select(self):
        return ['-p', str(self.server.pid)]
