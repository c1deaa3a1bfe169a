# SPDX-License-Identifier: Apache-2.0
"""A client of H2 leaves its transaction open while it does something else for 400 ms."""
import os
import struct

from kit import foreign, host, servers

JAR = '/usr/share/java/h2.jar'
DATABASE = './shop;LOCK_TIMEOUT=60000'


def message(kind, body):
    return kind + struct.pack('>i', len(body) + 4) + body


def query(text):
    return message(b'Q', text.encode() + b'\0')


HELLO = message(b'', struct.pack('>i', 196608) + b'user\0sa\0database\0' + DATABASE.encode() +
                b'\0\0')
PASSWORD = message(b'p', b'\0')
HOLDER = '''
import socket, sys, time
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))

def ask(data, until):
    s.sendall(data)
    got = b''
    while until not in got:
        got += s.recv(65536)

ask(%r, b'R')
ask(%r, b'Z')
while True:
    ask(%r, b'Z')
    ask(%r, b'Z')
    time.sleep(0.4)		# "and now the invoice"
    ask(%r, b'Z')
    time.sleep(0.1)
'''


def octets(data):
    return '>' + ''.join(r'\x%02x' % b for b in data)


class TheCase(foreign.Foreign):
    name = 'h2-transaction'
    about = 'a client of H2 keeps a row locked for 400 of 500 ms; three others update it'
    hurts = ('', 'p99 ms', 300)
    warm_s = 2

    def setup(self):
        lab, port = self.lab, host.free_port()
        os.mkdir(lab.path('h2'))
        self.server = servers.ready(lab, lab.spawn(
            ['java', '-cp', JAR, 'org.h2.tools.Server', '-pg', '-pgPort', port, '-baseDir',
             lab.path('h2'), '-ifNotExists'], env={'LC_ALL': 'C.UTF-8'}), port)
        make = lab.write('make.py', HOLDER.split('while True:\n    ask')[0] % (HELLO, PASSWORD) +
                         'ask(%r, b"Z")\n' % query('create table t (id int primary key, n int); '
                                                   'insert into t values (1, 1)'))
        lab.call([servers.PYTHON, make, port], timeout=30)

    def load(self):
        steps = HELLO, PASSWORD, query('begin'), query('update t set n = 2 where id = 1'), \
            query('commit')
        holder = self.lab.spawn([servers.PYTHON, self.lab.write('invoices.py', HOLDER % steps),
                                 self.server.port])
        self.talk('', 'tcp', self.server.port, octets(query('update t set n = 3 where id = 1')),
                  r'<Z\x00\x00\x00\x05', conns=3, pause=20,
                  opening=(octets(HELLO), '<R', octets(PASSWORD), r'<Z\x00\x00\x00\x05'))
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', what='H2, or the client that keeps its transaction open',
            party=foreign.process(holder) + '|' + foreign.process(self.server))
