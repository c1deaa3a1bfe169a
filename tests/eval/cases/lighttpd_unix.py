# SPDX-License-Identifier: Apache-2.0
"""lighttpd passes requests to a process behind a unix socket that is slow."""
from kit import load, more_servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect


class TheCase(Case):
    name = 'lighttpd-unix'
    about = 'mod_proxy to a unix socket whose process answers after 150 ms'
    labels = ('extra',)
    tools = ('lighttpd',)
    expect = {
        'degraded': Expect('peer', culprit='python'),
        'healthy': Expect(*CLOSED_LOOP.classes, 'peer',
                          why='closed loop: the upstream process fills its core'),
        'calm': CALM,
    }

    def setup(self):
        self.upstream = more_servers.unix_upstream(self.lab, 150 if self.degraded else 0)
        self.server = more_servers.lighttpd(self.lab, self.upstream.path)

    def load(self):
        rate = 100 if self.calm else 0
        self.loads[''] = load.Client(self.lab, 'http', self.server.port, 8, rate=rate)

    def select(self):
        return ['-p', str(self.server.pid)]
