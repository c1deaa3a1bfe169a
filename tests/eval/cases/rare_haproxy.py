# SPDX-License-Identifier: Apache-2.0
"""haproxy before nginx, both sound."""
from kit import load, servers
from kit.rare import RareCase


class TheCase(RareCase):
    name = 'rare-haproxy'
    about = 'no problem: haproxy before nginx, wrk with 32 connections'
    tools = ('haproxy', 'nginx', 'wrk')
    variants = ('healthy',)

    def setup(self):
        behind = servers.nginx(self.lab, '')
        self.server = servers.haproxy(self.lab, 'server s 127.0.0.1:%d' % behind.port)

    def load(self):
        self.loads[''] = load.Wrk(self.lab, self.server.port, '/small', 32)
        self.probe('http', self.server.port, '/small')

    def select(self):
        return ['-p', str(self.server.pid)]
