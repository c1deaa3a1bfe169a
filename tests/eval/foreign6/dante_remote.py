# SPDX-License-Identifier: Apache-2.0
"""danted passes connections on to a service on another host."""
import socket

from kit import foreign, host, more_servers, servers

CONF = '''
logoutput: stderr
internal: 127.0.0.1 port = %d
external: %s
clientmethod: none
socksmethod: none
client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
'''


def connect(address, port):
    """The dialogue of SOCKS 5 that asks for a connection without a password."""
    where = ''.join(r'\x%02x' % b for b in socket.inet_aton(address) + port.to_bytes(2, 'big'))
    return r'>\x05\x01\x00', r'<^\x05\x00', r'>\x05\x01\x00\x01' + where, r'<^\x05\x00.{8}'


class TheCase(foreign.Foreign):
    name = 'dante-remote'
    about = 'danted in front of a service on another host that answers after 140 ms; four clients'
    hurts = ('', 'p50 ms', 120)
    warm_s = 1

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.far = more_servers.RemoteHost(lab, 83)
        self.behind = self.far.upstream(lab, 140)
        self.server = servers.ready(lab, lab.spawn(
            ['danted', '-f', lab.write('danted.conf', CONF % (port, self.far.link))]), port)
        self.truth_of = foreign.Named(
            'external', 'peer', what="the service's address",
            party=foreign.address(self.behind.port, self.far.address.replace('.', r'\.')) +
            '|' + foreign.process(self.behind))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=5,
                  opening=connect(self.far.address, self.behind.port))
