# SPDX-License-Identifier: Apache-2.0
"""radsecproxy passes requests on by UDP to a server that answers after 150 ms."""
from kit import foreign, host, servers

CONF = '''
ListenUDP 127.0.0.1:%d
LogLevel 4
LogDestination file:///dev/stderr
client 127.0.0.1 {
	type udp
	secret key
}
server 127.0.0.1 {
	type udp
	secret key
	port %d
	StatusServer off
	retryInterval 30
	retryCount 0
}
realm * {
	server 127.0.0.1
}
'''
SLOW = '''
import hashlib, heapq, select, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('127.0.0.1', int(sys.argv[1])))
due = []
while True:
    wait = due[0][0] - time.monotonic() if due else 60
    if wait > 0 and select.select([s], [], [], wait)[0]:
        data, who = s.recvfrom(4096)
        head = b'\\x02' + data[1:2] + b'\\0\\x14'
        answer = head + hashlib.md5(head + data[4:20] + b'key').digest()
        heapq.heappush(due, (time.monotonic() + 0.15, answer, who))
    while due and due[0][0] <= time.monotonic():
        _, answer, who = heapq.heappop(due)
        s.sendto(answer, who)
'''


# User-Name and User-Password of an Access-Request
ASK = (r'>\x01\x01\x00\x2fauthenticator000\x01\x09a@x.tst\x02\x12passwordpassword')


class TheCase(foreign.Foreign):
    name = 'radsecproxy-udp'
    about = 'requests go on by UDP to a server that answers after 150 ms; four clients'
    hurts = ('', 'p50 ms', 120)
    warm_s = 1

    def setup(self):
        lab, port, behind = self.lab, host.free_port(), host.free_port()
        slow = lab.spawn([servers.PYTHON, '-c', SLOW, behind])
        self.server = lab.spawn(['radsecproxy', '-f', '-c', lab.write(
            'radsecproxy.conf', CONF % (port, behind))])
        self.server.port = port
        self.truth_of = foreign.Named(
            'peer', 'external', what='the server behind it',
            party=foreign.process(slow) + '|' + foreign.address(behind))

    def load(self):
        self.talk('', 'udp', self.server.port, ASK, r'<^\x02', conns=4, fresh=True, timeout=5)
