# SPDX-License-Identifier: Apache-2.0
"""daphne under a CPU quota of a cgroup."""
from kit import foreign, host, servers

APP = '''
async def app(scope, receive, send):
    if scope['type'] != 'http':
        return
    sum(i * i for i in range(20000))
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    await send({'type': 'http.response.body', 'body': b'ok\\n'})
'''


class TheCase(foreign.Foreign):
    name = 'daphne-quota'
    about = 'daphne under a CPU quota of 15 %, four clients'
    hurts = ('', 'p99 ms', 60)

    def setup(self):
        lab, port = self.lab, host.free_port()
        lab.write('app.py', APP)
        group = lab.cgroup('cpu', cpu_quota=1.0)
        self.server = servers.ready(lab, lab.spawn(
            ['daphne', '-b', '127.0.0.1', '-p', port, 'app:app'],
            env={'PYTHONPATH': lab.dir}, cgroup=group), port)
        group.limit(cpu_quota=0.15)
        self.truth_of = foreign.Named('cpu-quota', what="the quota's cgroup", party=group.name)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4)
