# SPDX-License-Identifier: Apache-2.0
"""Apache's few workers are kept by clients that hold connections open and say little."""
from kit import load, more_servers
from kit.case import CALM, Case, Expect

KEEP = '''
KeepAlive On
KeepAliveTimeout 15
MaxKeepAliveRequests 0
'''


class TheCase(Case):
    name = 'apache-keepalive'
    about = 'prefork, 4 workers, KeepAlive; 12 clients ask once a second'
    labels = ('extra',)
    tools = ('apache2',)
    # Eight of twelve connections are never accepted, though no worker has much to do.
    expect = {
        'degraded': Expect('conn-limit', 'workers', culprit='apache'),
        'healthy': Expect('healthy', 'clients', why='a worker for each client'),
        'calm': CALM,
    }

    def setup(self):
        self.server = more_servers.apache(self.lab, 4 if self.degraded else 16, {}, KEEP)

    def load(self):
        self.loads[''] = load.Client(self.lab, 'http', self.server.port, 4 if self.calm else 12,
                                     rate=4 if self.calm else 12, path='/file.txt')

    def select(self):
        return ['-p', str(self.server.pid)]
