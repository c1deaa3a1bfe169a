#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Uses what redis has, as a test of it would: sets, lists, hashes, patterns, scripts.

    redis_features.py HOST:PORT

Each round fills keys of some hundred members, reads them, and deletes them again.
"""
import socket
import sys
import time

ROUND_S = 0.02		# pause between two commands, so that other clients are served too
MEMBERS = 500
PATTERNS = 500


def command(*words):
    parts = [b'*%d\r\n' % len(words)]
    for word in words:
        data = str(word).encode()
        parts.append(b'$%d\r\n%s\r\n' % (len(data), data))
    return b''.join(parts)


def members(n):
    return ['member:%d' % i for i in range(n)]


ROUND = (
    ('sadd', 'set', *members(MEMBERS)), ('smembers', 'set'), ('scard', 'set'), ('del', 'set'),
    ('rpush', 'list', *members(MEMBERS)), ('lrange', 'list', 0, -1), ('lpop', 'list'),
    ('del', 'list'), ('hset', 'hash', *members(2 * MEMBERS)), ('hgetall', 'hash'),
    ('del', 'hash'), ('set', 'key', 'x' * 1000), ('get', 'key'), ('incr', 'number'),
    ('expire', 'key', 100), ('eval', "return redis.call('get', KEYS[1])", 1, 'key'),
    ('publish', 'pattern:1:x', 'hello'), ('info',),
)
PATTERN_NAMES = ['pattern:%d:*' % i for i in range(PATTERNS)]


def ask(sock, *words):
    """The answer is not looked at: what comes until the server is silent."""
    sock.sendall(command(*words))
    time.sleep(ROUND_S)
    sock.setblocking(False)
    try:
        while sock.recv(1 << 16):
            pass
    except BlockingIOError:
        pass
    sock.setblocking(True)


def main(argv):
    host, _, port = argv[1].rpartition(':')
    plain, patterns = (socket.create_connection((host, int(port))) for _ in range(2))
    while True:
        for words in ROUND:
            ask(plain, *words)
            if words[0] == 'del':
                ask(patterns, 'psubscribe', *PATTERN_NAMES)
                ask(patterns, 'punsubscribe')


if __name__ == '__main__':
    try:
        main(sys.argv)
    except (KeyboardInterrupt, OSError):
        pass
