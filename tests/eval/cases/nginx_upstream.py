# SPDX-License-Identifier: Apache-2.0
"""nginx passes requests to a service that answers after 200 ms."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect


class TheCase(Case):
    name = 'nginx-upstream'
    about = 'proxy_pass to a service that answers after 200 ms'
    tools = ('nginx', 'wrk')
    expect = {
        # In closed loop the upstream's one process can be the full core.
        'healthy': Expect(*CLOSED_LOOP.classes, 'peer', 'external',
                          why='closed loop: the upstream process fills its core'),
        'calm': CALM,
    }

    def setup(self):
        self.upstream = servers.upstream(self.lab, 200 if self.degraded else 0)
        address = '127.0.0.1:%d' % self.upstream.port
        self.server = servers.nginx(
            self.lab, 'proxy_pass http://up; proxy_http_version 1.1;'
            ' proxy_set_header Connection "";',
            'upstream up { server %s; keepalive 64; }' % address)
        # It is a service behind an address, and also a process of this machine.
        self.expect['degraded'] = Expect('external', 'peer', resource=str(self.upstream.port))

    def load(self):
        if self.calm:
            self.loads[''] = load.Client(self.lab, 'http', self.server.port, 8, rate=200)
        else:
            self.loads[''] = load.Wrk(self.lab, self.server.port, '/', 32)

    def select(self):
        return ['-p', str(self.server.pid)]
