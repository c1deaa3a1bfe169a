# SPDX-License-Identifier: Apache-2.0
"""Each client of hitch makes a handshake with an RSA key of 4096 bits; its core is full."""
from kit import foreign, host, load, servers


class TheCase(foreign.Foreign):
    name = 'hitch-handshake'
    about = 'a TLS handshake with RSA 4096 for each request, one worker, six clients'
    hurts = ('hitch', 'cpu', 0.7)
    truth_of = foreign.Named('cpu-own', what='hitch', party='hitch')

    def setup(self):
        upstream = servers.upstream(self.lab, 0)
        port = host.free_port()
        pem = foreign.certificate(self.lab, 4096)
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['hitch', '--workers=1', '--user=nobody', '--frontend=[127.0.0.1]:%d' % port,
             '--backend=[127.0.0.1]:%d' % upstream.port, '--ocsp-dir=', pem], cpu=0), port)

    def load(self):
        self.talk('', 'tls', self.server.port, *foreign.GET, conns=6, fresh=True)
        self.loads['hitch'] = load.Counter(
            'cpu', lambda: host.tree_ticks(self.server.pid) / host.TICKS)
