# SPDX-License-Identifier: Apache-2.0
"""The balancer pen shares a core with a job whose cgroup has a hundred times its weight."""
import os

from kit import foreign, host, servers


def weigh(group, shares):
    name, value = ('cpu.weight', max(1, shares // 10)) if group.v2 else ('cpu.shares', shares)
    with open(os.path.join(group.dir, name), 'w') as f:
        f.write(str(value))


class TheCase(foreign.Foreign):
    name = 'pen-weight'
    about = 'pen in a cgroup with cpu.shares 10, on a core that a job with 1024 fills'
    hurts = ('', 'p99 ms', 50)

    def setup(self):
        lab, port, behind = self.lab, host.free_port(), servers.upstream(self.lab, 0, cpu=1)
        light, heavy = lab.cgroup('cpu'), lab.cgroup('cpu')
        weigh(light, 10)
        weigh(heavy, 1024)
        self.server = servers.ready(lab, lab.spawn(
            ['pen', '-f', '-r', '127.0.0.1:%d' % port, '127.0.0.1:%d' % behind.port], cpu=0,
            cgroup=light), port)
        lab.spawn(['stress-ng', '--cpu', 3, '--cpu-method', 'int64'], cpu=0, cgroup=heavy)
        self.truth_of = foreign.Named('cpu-neighbour', what='stress-ng', party='stress-ng')

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=6)
