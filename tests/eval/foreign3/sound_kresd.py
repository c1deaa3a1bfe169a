# SPDX-License-Identifier: Apache-2.0
"""knot-resolver answers from hints, some 90 questions a second."""
from kit import foreign, host

CONF = '''
net.listen('127.0.0.1', %(port)d, { kind = 'dns' })
cache.size = 10 * MB
trust_anchors.remove('.')
modules = { 'hints > iterate' }
hints['www.x.org'] = '192.0.2.1'
modules.unload('ta_update')
modules.unload('priming')
modules.unload('detect_time_skew')
'''


class TheCase(foreign.Healthy):
    name = 'sound-kresd'
    about = 'knot-resolver answers from its hints, some 90 questions a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        conf = lab.write('kresd.conf', CONF % {'port': port})
        self.server = lab.spawn(['kresd', '-n', '-q', '-c', conf, lab.dir])
        lab.wait_port(self.server, port)
        self.server.port = port

    def load(self):
        self.talk('', 'udp', self.server.port, foreign.dns('www.x.org'), '<.', conns=3, pause=30,
                  timeout=5)
