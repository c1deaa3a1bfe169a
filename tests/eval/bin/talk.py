#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of any protocol that a dialogue tells: connections that ask, wait and ask again.

    talk.py tcp|udp|tls HOST:PORT [--open STEP]... --ask STEP... --log FILE
    talk.py run COMMAND --log FILE		a request is one run of a shell command

A STEP is `>TEXT` send, `<REGEX` read until it is found, `~MS` sleep; TEXT and REGEX
have the escapes of C.  --open is done once for each connection, with --fresh before
each request and as part of it.  A line of the log is `monotonic_seconds latency_us`,
-1 for a failure, and at the end one with the word `open` for each request that still
waits.  Every connection has a thread of its own that blocks in one call.
"""
import argparse
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time


CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)	# without anybody's certificates: quick
CONTEXT.check_hostname, CONTEXT.verify_mode = False, ssl.CERT_NONE


def octets(text):
    return text.encode('latin-1').decode('unicode_escape').encode('latin-1')


def steps_of(texts):
    found = []
    for text in texts:
        kind, rest = text[0], text[1:]
        found.append((kind, float(rest) / 1000 if kind == '~' else octets(rest)
                      if kind == '>' else re.compile(rest.encode('latin-1'), re.S)))
    return found


class Wire:
    def __init__(self, args):
        host, _, port = args.addr.rpartition(':')
        if args.proto == 'udp':
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.sock.settimeout(args.timeout)
            self.sock.connect((host, int(port)))
            return
        self.sock = socket.create_connection((host, int(port)), args.timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if args.proto == 'tls':
            self.sock = CONTEXT.wrap_socket(self.sock)

    def until(self, pattern):
        data = b''
        while not pattern.search(data):
            piece = self.sock.recv(65536)
            if not piece:
                raise OSError('closed')
            data += piece

    def talk(self, steps):
        for kind, what in steps:
            if kind == '>':
                self.sock.sendall(what)
            elif kind == '<':
                self.until(what)
            else:
                time.sleep(what)

    def close(self):
        self.sock.close()


class Shell:
    """A request is one run of the command."""

    def __init__(self, args):
        self.command, self.timeout = args.addr, args.timeout

    def talk(self, _steps):
        try:
            done = subprocess.run(self.command, shell=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=self.timeout)
        except subprocess.TimeoutExpired:
            raise OSError('too long')
        if done.returncode:
            raise OSError('status %d' % done.returncode)

    def close(self):
        pass


class Client(threading.Thread):
    def __init__(self, args, index, log):
        super().__init__(daemon=True)
        self.args, self.index, self.log = args, index, log
        self.asked = None	# since when a request is open

    def run(self):
        opening, asking = steps_of(self.args.open), steps_of(self.args.ask)
        make = Shell if self.args.proto == 'run' else Wire
        wire = None
        time.sleep(self.args.pause / 1000 * self.index / self.args.conns)
        while True:
            try:
                if self.args.fresh:
                    self.asked = time.monotonic()
                if not wire:
                    wire = make(self.args)
                    if opening:
                        wire.talk(opening)
                if not self.args.fresh:
                    self.asked = time.monotonic()
                wire.talk(asking)
                self.note()
            except OSError:
                self.note(failed=True)
                time.sleep(0.05)
            if wire and (self.args.fresh or self.asked is None):
                wire.close()
                wire = None
            time.sleep(self.args.pause / 1000)

    def note(self, failed=False):
        end = time.monotonic()
        took = -1 if failed else (end - self.asked) * 1e6
        self.log.write('%.6f %d\n' % (end, took))
        if failed:
            self.asked = None	# the connection is of no more use


def main(args):
    with open(args.log, 'w', buffering=1) as log:
        clients = [Client(args, i, log) for i in range(args.conns)]
        for client in clients:
            client.start()
        stop = threading.Event()
        signal.signal(signal.SIGINT, lambda *_: stop.set())
        while not stop.wait(0.2):
            pass
        now = time.monotonic()
        for client in clients:
            if client.asked:
                log.write('%.6f %d open\n' % (now, (now - client.asked) * 1e6))
        log.flush()
        os._exit(0)


if __name__ == '__main__':
    p = argparse.ArgumentParser()
    p.add_argument('proto', choices=('tcp', 'udp', 'tls', 'run'))
    p.add_argument('addr')
    p.add_argument('--conns', type=int, default=1)
    p.add_argument('--pause', type=float, default=0, help='milliseconds between requests')
    p.add_argument('--timeout', type=float, default=60)
    p.add_argument('--fresh', action='store_true', help='a connection for each request')
    p.add_argument('--open', action='append', default=[])
    p.add_argument('--ask', action='append', default=[])
    p.add_argument('--log', required=True)
    main(p.parse_args())
