# SPDX-License-Identifier: Apache-2.0
"""haproxy lets two requests at a time through to its upstream; the rest queue."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth


class TheCase(Case):
    name = 'haproxy-maxconn'
    about = 'maxconn 2 on the server line, upstream 10 ms, 32 clients'
    labels = ('waits', 'functions')
    tools = ('haproxy', 'wrk')
    expect = {
        # A limit inside haproxy; the upstream answers in 10 ms and is not to blame.
        'degraded': Expect('conn-limit'),
        # Without the limit every request does wait 10 ms for the upstream.
        'healthy': Expect(*CLOSED_LOOP.classes, 'peer', 'external',
                          why='closed loop: each request is 10 ms at the upstream'),
        'calm': CALM,
    }

    truth = Truth('pendconn_add')

    def setup(self):
        self.upstream = servers.upstream(self.lab, 0 if self.calm else 10)
        limit = 'maxconn 2' if self.degraded else ''
        self.server = servers.haproxy(self.lab, 'server s 127.0.0.1:%d %s'
                                      % (self.upstream.port, limit))

    def load(self):
        if self.calm:
            self.loads[''] = load.Client(self.lab, 'http', self.server.port, 8, rate=200)
        else:
            self.loads[''] = load.Wrk(self.lab, self.server.port, '/', 32)

    def learn_load(self):
        self.loads[''] = load.Client(self.lab, 'http', self.server.port, 12, rate=400)

    def select(self):
        return ['-p', str(self.server.pid)]
