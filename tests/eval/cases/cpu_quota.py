# SPDX-License-Identifier: Apache-2.0
"""nginx's worker has 15 % of a core by its cgroup's quota."""
from kit import host, load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect


class TheCase(Case):
    name = 'cpu-quota'
    about = 'nginx static file, the worker under a CPU quota of 15 %'
    tools = ('nginx', 'wrk')

    expect = {
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        self.server = servers.nginx(self.lab, '', cpu=0)
        # The resource is the quota's cgroup, by its name.
        self.expect['degraded'] = Expect('cpu-quota')
        if self.degraded:
            group = self.lab.cgroup('cpu', cpu_quota=0.15)
            for pid in host.children(self.server.pid):
                group.add(pid)
            self.expect['degraded'] = Expect('cpu-quota', resource=group.name)

    def load(self):
        if self.calm:
            self.loads[''] = load.Client(self.lab, 'http', self.server.port, 8, rate=500,
                                         path='/file')
        else:
            self.loads[''] = load.Wrk(self.lab, self.server.port, '/file', 32)

    def select(self):
        return ['-p', str(self.server.pid)]
