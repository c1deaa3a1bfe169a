# SPDX-License-Identifier: Apache-2.0
"""Varnish gives answers a life of nothing but calls them cacheable: fetches stand in line."""
from kit import foreign, host, servers

VCL = '''vcl 4.1;
backend shop { .host = "127.0.0.1"; .port = "%d"; }
sub vcl_backend_response {
    # always fresh
    set beresp.ttl = 0s;
    set beresp.grace = 0s;
    return (deliver);
}
'''


class TheCase(foreign.Foreign):
    name = 'varnish-queue'
    about = 'ttl 0 but not uncacheable: one request at a time is fetched, which takes 40 ms'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        lab, port = self.lab, host.free_port()
        behind = servers.upstream(lab, 40)
        vcl = lab.write('shop.vcl', VCL % behind.port)
        self.server = servers.ready(lab, lab.spawn(
            ['varnishd', '-F', '-n', lab.path('varnish'), '-a', '127.0.0.1:%d' % port,
             '-f', vcl, '-s', 'malloc,32m', '-T', 'none']), port)
        self.truth_of = foreign.Named(
            'peer', 'external', 'conn-limit', what='the service behind it',
            party=foreign.process(behind) + '|' + foreign.address(behind.port))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=8)
