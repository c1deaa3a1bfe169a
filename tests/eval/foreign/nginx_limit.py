# SPDX-License-Identifier: Apache-2.0
"""nginx holds requests back, ten a second: limit_req with a burst."""
from kit import foreign, servers


class TheCase(foreign.Foreign):
    name = 'nginx-limit'
    about = 'limit_req rate=10r/s burst=20, eight clients'
    hurts = ('', 'p50 ms', 400)
    truth_of = foreign.Named('timer', 'conn-limit', what='nginx', party='nginx')

    def setup(self):
        self.server = servers.nginx(self.lab, 'limit_req zone=z burst=20; try_files /small =404;',
                                    'limit_req_zone $server_addr zone=z:1m rate=10r/s;')

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/small')[:1], r'<hello\n', conns=8)
