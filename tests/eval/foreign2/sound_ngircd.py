# SPDX-License-Identifier: Apache-2.0
"""ngircd: users who only listen, and two who ask some 60 times a second."""
from kit import foreign, host, servers

CONF = '''
[Global]
Name = irc.test
Info = test
Listen = 127.0.0.1
Ports = %(port)d
ServerUID = nobody
ServerGID = nogroup
[Limits]
MaxConnections = 50
MaxConnectionsIP = 0
MaxPenaltyTime = 0
[Options]
DNS = no
Ident = no
PAM = no
'''
READER = '''
import os, socket, sys
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
s.sendall(b'NICK %s\\r\\nUSER x 0 * :x\\r\\nJOIN #all\\r\\n' % sys.argv[2].encode())
while s.recv(65536):
    pass
'''


class TheCase(foreign.Healthy):
    name = 'sound-ngircd'
    about = 'ngircd: six users who only listen, and one who asks 30 times a second'

    def setup(self):
        port = host.free_port()
        conf = self.lab.write('ngircd.conf', CONF % {'port': port})
        self.server = servers.ready(self.lab, self.lab.spawn(['ngircd', '-n', '-f', conf]), port)
        reader = self.lab.write('reader.py', READER)
        for i in range(6):
            self.lab.spawn([servers.PYTHON, reader, port, 'user%d' % i])

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>PING x\r\n', r'<PONG', conns=1, pause=30,
                  opening=(r'>NICK asker\r\nUSER a 0 * :a\r\nJOIN #all\r\n', r'< 366 '))
