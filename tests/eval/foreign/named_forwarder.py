# SPDX-License-Identifier: Apache-2.0
"""named forwards all questions to a name server that answers after 200 ms."""
from kit import foreign, host, servers

CONF = '''
options { directory "%(dir)s"; listen-on port %(port)d { 127.0.0.1; }; listen-on-v6 { none; };
  pid-file "%(dir)s/pid"; session-keyfile "%(dir)s/key"; recursion yes; dnssec-validation no;
  forward only; forwarders { 127.0.0.1 port %(asked)d; }; };
controls { };
'''
FORWARDER = '''
import heapq, select, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('127.0.0.1', int(sys.argv[1])))
due = []
while True:
    wait = max(0, due[0][0] - time.monotonic()) if due else 60
    if select.select([s], [], [], wait)[0]:
        q, who = s.recvfrom(2000)
        end = 12
        while q[end]:
            end += q[end] + 1
        # the question, and one address with a TTL of 0: nothing is kept
        a = q[:2] + b'\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0' + q[12:end + 5] + \\
            b'\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\0\\0\\4\\xc0\\0\\2\\1'
        heapq.heappush(due, (time.monotonic() + 0.2, a, who))
    while due and due[0][0] <= time.monotonic():
        _, a, who = heapq.heappop(due)
        s.sendto(a, who)
'''


class TheCase(foreign.Foreign):
    name = 'named-forwarder'
    about = 'bind9 forwards by UDP to a server that answers after 200 ms'
    hurts = ('', 'p50 ms', 150)

    def setup(self):
        port, asked = host.free_port(), host.free_port()
        forwarder = self.lab.spawn([servers.PYTHON, self.lab.write('forwarder.py', FORWARDER),
                                    asked])
        conf = self.lab.write('named.conf', CONF % {'dir': self.lab.dir, 'port': port,
                                                    'asked': asked})
        self.server = self.lab.spawn(['named', '-g', '-c', conf])
        self.lab.wait_port(self.server, port)
        self.server.port = port
        self.truth_of = foreign.Named(
            'peer', 'external', what='the forwarder',
            party=foreign.process(forwarder) + '|' + foreign.address(asked))

    def load(self):
        for i in range(4):
            self.talk('' if not i else 'c%d' % i, 'udp', self.server.port,
                      foreign.dns('n%d.x.test' % i), '<.', conns=1, timeout=5)
