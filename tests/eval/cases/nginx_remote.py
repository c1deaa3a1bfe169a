# SPDX-License-Identifier: Apache-2.0
"""nginx passes requests to a service on another host, as sockets see it."""
from kit import load, more_servers, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect


class TheCase(Case):
    name = 'nginx-remote'
    about = 'proxy_pass into a network name space, answers after 200 ms'
    labels = ('extra',)
    tools = ('nginx', 'wrk', 'ip')
    expect = {
        'healthy': Expect(*CLOSED_LOOP.classes, 'external', 'peer',
                          why='closed loop: the upstream process fills its core'),
        'calm': CALM,
    }

    def setup(self):
        remote = more_servers.RemoteHost(self.lab)
        self.upstream = remote.upstream(self.lab, 200 if self.degraded else 0)
        address = '%s:%d' % (remote.address, self.upstream.port)
        self.server = servers.nginx(
            self.lab, 'proxy_pass http://up; proxy_http_version 1.1;'
            ' proxy_set_header Connection "";',
            'upstream up { server %s; keepalive 64; }' % address)
        self.expect['degraded'] = Expect('external', 'peer', resource=address)

    def load(self):
        if self.calm:
            self.loads[''] = load.Client(self.lab, 'http', self.server.port, 8, rate=200)
        else:
            self.loads[''] = load.Wrk(self.lab, self.server.port, '/', 32)

    def select(self):
        return ['-p', str(self.server.pid)]
