#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One connection that asks at a fixed pace and notes how long each answer takes.

    probe.py PROTO HOST:PORT --pace MS [--ask TEXT] --log FILE
    probe.py memcached HOST:PORT --pipeline N	a load: N requests at a time, no log

PROTO is http, redis, memcached, pg (trust) or mysql (user sb, no password); ASK is
a path, a command or a statement.  A line of the log is `monotonic_seconds latency_us`,
-1 for a failure.  It blocks in one call and has one thread, so it sees the server's
answer times and little of its own.
"""
import argparse
import socket
import struct
import sys
import time

TIMEOUT_S = 30


class Wire:
    def __init__(self, address):
        self.sock = socket.create_connection(address, TIMEOUT_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.sock.makefile('rb')

    def exactly(self, cnt):
        data = self.file.read(cnt)
        if len(data) != cnt:
            raise OSError('closed')
        return data

    def line(self):
        data = self.file.readline()
        if not data:
            raise OSError('closed')
        return data


class Http(Wire):
    ask = '/'

    def talk(self, ask):
        self.sock.sendall(b'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' % ask.encode())
        if b' 200 ' not in self.line():
            raise OSError('no answer')
        length = 0
        while True:
            key, _, value = self.line().lower().partition(b':')
            if key == b'content-length':
                length = int(value)
            elif key == b'transfer-encoding':
                length = -1
            elif not key.strip():
                break
        while length < 0:
            size = int(self.line(), 16)
            self.exactly(size + 2)
            length = 0 if not size else length
        self.exactly(length)


class Redis(Wire):
    ask = 'GET k'

    def talk(self, ask):
        self.sock.sendall(ask.encode() + b'\r\n')
        line = self.line()
        if line.startswith(b'$') and int(line[1:]) >= 0:
            self.exactly(int(line[1:]) + 2)


class Memcached(Wire):
    ask = 'get k1'

    def talk(self, ask, cnt=1):
        self.sock.sendall((ask.encode() + b'\r\n') * cnt)
        while cnt:
            cnt -= self.line() == b'END\r\n'


class Postgres(Wire):
    ask = 'select 1'

    def __init__(self, address):
        super().__init__(address)
        text = b'user\0postgres\0database\0postgres\0\0'
        self.sock.sendall(struct.pack('>II', len(text) + 8, 3 << 16) + text)
        self.until_ready()

    def until_ready(self):
        while True:
            kind, length = struct.unpack('>cI', self.exactly(5))
            text = self.exactly(length - 4)
            if kind == b'E':
                raise OSError(text)
            if kind == b'Z':
                return

    def talk(self, ask):
        text = ask.encode() + b'\0'
        self.sock.sendall(b'Q' + struct.pack('>I', len(text) + 4) + text)
        self.until_ready()


class Mysql(Wire):
    ask = 'select 1'
    CAN = 0x1 | 0x8 | 0x200 | 0x8000 | 0x80000	# protocol 4.1, database, plugins

    def __init__(self, address):
        super().__init__(address)
        self.packet()
        text = struct.pack('<IIB23x', self.CAN, 1 << 24, 33) + \
            b'sb\0\0sbtest\0mysql_native_password\0'
        self.send(text, 1)
        self.packet()

    def send(self, text, number):
        self.sock.sendall(struct.pack('<I', len(text))[:3] + bytes([number]) + text)

    def packet(self):
        length = int.from_bytes(self.exactly(4)[:3], 'little')
        text = self.exactly(length)
        if text[:1] == b'\xff':
            raise OSError(text)
        return text

    def talk(self, ask):
        self.send(b'\x03' + ask.encode(), 0)
        if self.packet()[:1] == b'\0':
            return
        ends = 0
        while ends < 2:		# of the columns, of the rows
            text = self.packet()
            ends += text[:1] == b'\xfe' and len(text) < 9


KINDS = {'http': Http, 'redis': Redis, 'memcached': Memcached, 'pg': Postgres, 'mysql': Mysql}


def probe(args, make):
    wire, due = None, time.monotonic()
    with open(args.log, 'w', buffering=1) as log:
        while True:
            time.sleep(max(0.0, due - time.monotonic()))
            start = time.monotonic()
            due = max(due + args.pace / 1000, start)
            try:
                wire = wire or make()
                wire.talk(args.ask)
                end = time.monotonic()
                log.write('%.6f %d\n' % (end, (end - start) * 1e6))
            except OSError:
                log.write('%.6f -1\n' % time.monotonic())
                wire, due = None, time.monotonic() + 0.05


def main(args):
    host, _, port = args.addr.rpartition(':')
    kind = KINDS[args.proto]
    args.ask = args.ask or kind.ask

    def make():
        return kind((host, int(port)))
    if args.pipeline:
        wire = make()
        while True:
            wire.talk(args.ask, args.pipeline)
    probe(args, make)


if __name__ == '__main__':
    p = argparse.ArgumentParser()
    p.add_argument('proto', choices=sorted(KINDS))
    p.add_argument('addr')
    p.add_argument('--pace', type=float, default=10, help='milliseconds')
    p.add_argument('--ask')
    p.add_argument('--pipeline', type=int, default=0)
    p.add_argument('--log')
    try:
        main(p.parse_args())
    except KeyboardInterrupt:
        sys.exit(0)
