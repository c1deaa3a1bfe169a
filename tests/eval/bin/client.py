#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small client: N connections, a fixed rate or closed loop, one line per answer.

    client.py PROTO ADDR --conns N [--rate R] [--path /x] [--method GET] --log FILE

PROTO is http, redis (PING or --path COMMAND) or memcached; ADDR is HOST:PORT.
Each log line is `monotonic_seconds latency_us`; a failed request has -1.
"""
import argparse
import asyncio
import sys
import time

READ_TIMEOUT_S = 60
PIECE_S = 0.002		# a body comes after its head, and in two pieces, as it does from afar


async def read_http(reader):
    head = await reader.readuntil(b'\r\n\r\n')
    length, chunked = 0, False
    for line in head.split(b'\r\n')[1:]:
        key, _, value = line.partition(b':')
        key = key.lower()
        if key == b'content-length':
            length = int(value)
        elif key == b'transfer-encoding' and b'chunked' in value:
            chunked = True
    while chunked:
        size = int(await reader.readline(), 16)
        await reader.readexactly(size + 2)
        chunked = size > 0
    if length:
        await reader.readexactly(length)
    if not head.startswith(b'HTTP/1.1 2') and not head.startswith(b'HTTP/1.0 2'):
        raise ValueError(head[:20])
    return b'close' in head.lower()


async def read_redis(reader):
    line = await reader.readline()
    if not line:
        raise ValueError('closed')
    if line.startswith(b'$') and int(line[1:]) >= 0:
        await reader.readexactly(int(line[1:]) + 2)
    return False


async def read_memcached(reader):
    while True:
        line = await reader.readline()
        if not line:
            raise ValueError('closed')
        if line in (b'END\r\n', b'STORED\r\n'):
            return False


def request_of(args):
    if args.proto == 'http':
        more = 'Content-Length: %d\r\n' % args.body if args.body else ''
        text = '%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n' % (args.method, args.path, more)
        body = b'x' * (args.body // 2)
        return [piece for piece in (text.encode(), body, b'x' * (args.body - len(body)))
                if piece], read_http
    if args.proto == 'memcached':
        return [b'get k1\r\n'], read_memcached
    return [(args.path.strip('/') or 'PING').encode() + b'\r\n'], read_redis


async def talk(args, index, log):
    host, _, port = args.addr.rpartition(':')
    request, read = request_of(args)
    gap = args.conns / args.rate if args.rate else 0
    due = time.monotonic() + gap * index / args.conns
    reader = writer = None
    while True:
        if gap:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due = max(due + gap, time.monotonic() - gap)
        start = time.monotonic()
        try:
            if writer is None:
                reader, writer = await asyncio.open_connection(host, int(port))
            for i, piece in enumerate(request):
                if i:
                    await asyncio.sleep(PIECE_S)
                writer.write(piece)
            close = await asyncio.wait_for(read(reader), READ_TIMEOUT_S)
            end = time.monotonic()
            log.write('%.6f %d\n' % (end, (end - start) * 1e6))
        except (OSError, ValueError, EOFError, asyncio.TimeoutError):
            log.write('%.6f -1\n' % time.monotonic())
            close = True
            await asyncio.sleep(0.05)
        if close and writer:
            writer.close()
            writer = None


async def main(args):
    with open(args.log, 'w') as log:
        tasks = [asyncio.ensure_future(talk(args, i, log)) for i in range(args.conns)]

        async def flush():
            while True:
                await asyncio.sleep(0.2)
                log.flush()
        await asyncio.gather(flush(), *tasks)


if __name__ == '__main__':
    p = argparse.ArgumentParser()
    p.add_argument('proto', choices=('http', 'redis', 'memcached'))
    p.add_argument('addr')
    p.add_argument('--conns', type=int, default=1)
    p.add_argument('--rate', type=float, default=0)
    p.add_argument('--path', default='/')
    p.add_argument('--method', default='GET')
    p.add_argument('--body', type=int, default=0, help='bytes')
    p.add_argument('--log', required=True)
    try:
        asyncio.run(main(p.parse_args()))
    except KeyboardInterrupt:
        sys.exit(0)
