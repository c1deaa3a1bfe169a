# SPDX-License-Identifier: Apache-2.0
"""blackbox-exporter connects to a host whose backlog is full: its SYNs are dropped."""
from kit import foreign, host, more_servers, servers

CONF = '''
modules:
  tcp:
    prober: tcp
    timeout: 20s
'''
BUSY = '''
import socket, sys, time
s = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=1)
while True:
    time.sleep(0.4)		# it does everything itself
    s.accept()[0].close()
'''


class TheCase(foreign.Foreign):
    name = 'blackbox-backlog'
    about = 'probes of a host that accepts a connection each 400 ms, with a backlog of 1'
    hurts = ('', 'p50 ms', 500)
    warm_s = 3

    def setup(self):
        lab, port, behind = self.lab, host.free_port(), host.free_port()
        far = more_servers.RemoteHost(lab, 94)
        lab.spawn(['ip', 'netns', 'exec', far.name, servers.PYTHON, '-c', BUSY, far.address,
                   behind])
        self.server = servers.ready(lab, lab.spawn(
            ['prometheus-blackbox-exporter', '--config.file=' + lab.write('b.yml', CONF),
             '--web.listen-address=127.0.0.1:%d' % port]), port)
        self.path = '/probe?module=tcp&target=%s:%d' % (far.address, behind)
        self.truth_of = foreign.Named('external', 'peer', what="the host's address",
                                      party=foreign.address(behind, far.address))

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n'
                  % self.path, r'<probe_success \d', conns=8, pause=20, fresh=True)
        self.talk('quick', 'tcp', self.server.port, *foreign.GET[:1], '<</html>|0\r\n\r\n',
                  conns=1, pause=100, fresh=True)
