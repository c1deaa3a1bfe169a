# SPDX-License-Identifier: Apache-2.0
"""Starlet keeps a process for each connection that is kept open, and it has two."""
from kit import foreign, host, servers

APP = '''
my $app = sub {
	return [200, ['Content-Type' => 'text/plain', 'Content-Length' => 3], ["ok\\n"]];
};
'''
KEEPS = '''
import socket, sys, threading, time

def keep():
    while True:
        with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as s:
            for _ in range(3):
                s.sendall(b'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: keep-alive\\r\\n\\r\\n')
                if not s.recv(4096):
                    break
                time.sleep(0.3)
        time.sleep(0.05)

for _ in range(2):
    threading.Thread(target=keep).start()
'''


class TheCase(foreign.Foreign):
    name = 'starlet-keepalive'
    about = 'two processes, and two clients that keep their connections for 900 ms; three others ask'
    hurts = ('', 'p99 ms', 250)

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            ['plackup', '-s', 'Starlet', '--host', '127.0.0.1', '--port', port, '--max-workers', 2,
             '--max-keepalive-reqs', 100, '--keepalive-timeout', 5,
             '-a', lab.write('app.psgi', APP)]), port)

    def load(self):
        keeps = self.lab.spawn([servers.PYTHON, self.lab.write('keeps.py', KEEPS),
                                self.server.port])
        self.talk('', 'tcp', self.server.port, r'>GET / HTTP/1.0\r\nHost: localhost\r\n\r\n',
                  r'<ok\n', conns=3, pause=20, fresh=True)
        self.truth_of = foreign.Named(
            'clients', 'workers', 'conn-limit',
            what='the clients that keep connections, or the two processes',
            party='|'.join((foreign.process(keeps), foreign.process(self.server),
                            'placku|perl|clients of 127')))
