# SPDX-License-Identifier: Apache-2.0
"""Once in 4 s the service behind nginx answers nobody for 300 ms."""
from kit import load, servers
from kit.rare import Rare, RareCase


class TheCase(RareCase):
    name = 'rare-upstream'
    about = 'the service behind nginx is silent for 300 ms every 4 s, wrk with 32 connections'
    tools = ('nginx', 'wrk')
    variants = ('degraded',)

    def setup(self):
        upstream = servers.upstream(self.lab, 0, 300, 4000)
        self.server = servers.nginx(
            self.lab, 'proxy_pass http://up; proxy_http_version 1.1;'
            ' proxy_set_header Connection "";',
            'upstream up { server 127.0.0.1:%d; keepalive 64; }' % upstream.port)
        self.rare = Rare('external', 'peer', stall_ms=300, every_s=4,
                         culprit='/%d$' % upstream.pid, resource=r':%d\b' % upstream.port)

    def load(self):
        self.loads[''] = load.Wrk(self.lab, self.server.port, '/', 32)
        self.probe('http', self.server.port)

    def select(self):
        return ['-p', str(self.server.pid)]
