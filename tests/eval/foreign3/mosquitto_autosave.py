# SPDX-License-Identifier: Apache-2.0
"""The broker writes all it keeps to disk after each 40 messages, and does nothing else then."""
import os
import socket

from kit import foreign, host, servers

CONF = '''
listener %(port)d 127.0.0.1
allow_anonymous true
user root
persistence true
persistence_location %(dir)s/
autosave_on_changes true
autosave_interval 40
log_dest none
'''
TOPICS = 100000


def text(data):
    return len(data).to_bytes(2, 'big') + data


def packet(kind, body):
    size, left = b'', len(body)
    while True:
        left, low = left >> 7, left & 127
        size += bytes([low | (128 if left else 0)])
        if not left:
            return bytes([kind]) + size + body


def hello(name):
    return packet(0x10, text(b'MQTT') + b'\x04\x02\x00\x00' + text(name))


def octets(data):
    return '>' + ''.join(r'\x%02x' % b for b in data)


def keep(port):
    """Retained messages, as devices leave them."""
    with socket.create_connection(('127.0.0.1', port)) as s:
        s.sendall(hello(b'filler'))
        s.recv(4)
        for i in range(0, TOPICS, 500):
            s.sendall(b''.join(packet(0x31, text(b'devices/%d/state' % k) + b'x' * 1000)
                               for k in range(i, i + 500)))
        s.sendall(b'\xc0\x00')
        s.recv(2)


class TheCase(foreign.Foreign):
    name = 'mosquitto-autosave'
    about = 'autosave_on_changes: all of 100,000 retained messages are written each 40 messages'
    hurts = ('', 'p99 ms', 100)

    def setup(self):
        lab, port = self.lab, host.free_port()
        os.mkdir(lab.path('data'))
        conf = CONF % {'port': port, 'dir': lab.path('data')}
        filled = servers.ready(lab, lab.spawn(
            ['mosquitto', '-c', lab.write('fill.conf', conf.replace('l 40', 'l 0'))]), port)
        keep(port)
        filled.stop(30)
        lab.procs.remove(filled)
        self.server = servers.ready(lab, lab.spawn(
            ['mosquitto', '-c', lab.write('mosquitto.conf', conf)]), port)
        self.truth_of = foreign.Named('loop-blocked', 'fsync', 'disk-own', what='mosquitto',
                                      party='mosquitto', function='persist')

    def load(self):
        for i in range(3):
            self.talk('c%d' % i if i else '', 'tcp', self.server.port,
                      octets(packet(0x33, text(b'news/%d' % i) + b'\x00\x01' + b'x' * 20)),
                      r'<\x40\x02\x00\x01', conns=1, pause=40,
                      opening=(octets(hello(b'client%d' % i)), r'<\x20\x02\x00\x00'))
