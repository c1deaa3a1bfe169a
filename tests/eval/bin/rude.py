#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A client that behaves badly, again and again: rude.py MODE HOST:PORT PATH

    eof    announces a body, sends a part and ends its side; goes away 1.5 s later
    slow   announces a body and sends the rest after 0.7 s
"""
import socket
import sys
import time

BODY = 5000


def once(mode, address, path):
    with socket.create_connection(address, 5) as s:
        s.sendall(b'POST %s HTTP/1.1\r\nContent-Length: %d\r\n\r\n' % (path.encode(), BODY))
        s.sendall(b'x' * 100)
        if mode == 'eof':
            s.shutdown(socket.SHUT_WR)
            time.sleep(1.5)
        else:
            time.sleep(0.7)
            s.sendall(b'x' * (BODY - 100))
            s.recv(4096)


def main(mode, where, path):
    host, _, port = where.rpartition(':')
    while True:
        try:
            once(mode, (host, int(port)), path)
        except OSError:
            pass
        time.sleep(0.5)


if __name__ == '__main__':
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(0)
