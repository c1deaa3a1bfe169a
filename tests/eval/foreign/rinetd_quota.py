# SPDX-License-Identifier: Apache-2.0
"""rinetd passes connections to a service that has 10 % of a core by a quota."""
from kit import foreign, host, servers

SERVER = '''
import os
def handle(path):
    n = 0
    for i in range(40000):
        n += i
    return 'ok\\n'
'''


class TheCase(foreign.Foreign):
    name = 'rinetd-quota'
    about = 'rinetd before a service under a CPU quota of 10 %'
    hurts = ('', 'p50 ms', 50)

    def setup(self):
        behind = servers.python(self.lab, SERVER)
        port = host.free_port()
        conf = self.lab.write('rinetd.conf', '127.0.0.1 %d 127.0.0.1 %d\n' % (port, behind.port))
        self.server = servers.ready(self.lab, self.lab.spawn(['rinetd', '-f', '-c', conf]), port)
        group = self.lab.cgroup('cpu', cpu_quota=0.1)
        group.add(behind.pid)
        self.truth_of = foreign.Named(
            'peer', 'external', 'cpu-quota', what='the service, or its quota',
            party='|'.join((foreign.process(behind), foreign.address(behind.port), group.name)))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=10, fresh=True)
