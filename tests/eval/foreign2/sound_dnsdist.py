# SPDX-License-Identifier: Apache-2.0
"""dnsdist passes some 100 questions a second on to dnsmasq, which answers at once."""
from kit import foreign, host

CONF = '''
setLocal('127.0.0.1:%(port)d')
newServer({address='127.0.0.1:%(behind)d', checkType='A', checkName='x.test.'})
setSecurityPollSuffix('')
'''


class TheCase(foreign.Healthy):
    name = 'sound-dnsdist'
    about = 'dnsdist before dnsmasq, some 100 questions a second'

    def setup(self):
        lab, port, behind = self.lab, host.free_port(), host.free_port()
        dnsmasq = lab.spawn(['dnsmasq', '--no-daemon', '--conf-file=/dev/null', '--no-resolv',
                             '--no-hosts', '--listen-address=127.0.0.1', '--bind-interfaces',
                             '--port=%d' % behind, '--address=/x.test/192.0.2.1'])
        lab.wait_port(dnsmasq, behind)
        conf = lab.write('dnsdist.conf', CONF % {'port': port, 'behind': behind})
        self.server = lab.spawn(['dnsdist', '-C', conf, '--supervised', '--disable-syslog'])
        lab.wait_port(self.server, port)
        self.server.port = port

    def load(self):
        self.talk('', 'udp', self.server.port, foreign.dns('x.test'), '<.', conns=3, pause=30,
                  timeout=5)
