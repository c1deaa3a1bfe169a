#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A service that answers each request after a delay: upstream.py ADDR DELAY_MS [FOR_MS EVERY_MS]

With the last two it answers nobody for FOR_MS in each EVERY_MS, and all of them then.
ADDR is HOST:PORT or a path for a unix socket.  Speaks HTTP/1.1 with
keep-alive; all requests wait at once, none holds another up.
"""
import asyncio
import sys
import time

BODY = b'ok\n'
ANSWER = (b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n'
          % len(BODY)) + BODY


class Service(asyncio.Protocol):
    delay_s = silent_s = 0.0
    every_s = 1.0

    def connection_made(self, transport):
        self.transport = transport
        self.data = b''

    def data_received(self, data):
        self.data += data
        while b'\r\n\r\n' in self.data:
            head, _, self.data = self.data.partition(b'\r\n\r\n')
            closing = b'connection: close' in head.lower() or b' HTTP/1.0' in head
            delay_s = self.delay_s or self.silence_s()
            if delay_s:
                asyncio.get_running_loop().call_later(delay_s, self.answer, closing)
            else:
                self.answer(closing)

    def silence_s(self):
        """What is left of the silence, 0 outside of one."""
        return max(0.0, self.silent_s - time.monotonic() % self.every_s)

    def answer(self, closing):
        if self.transport.is_closing():
            return
        self.transport.write(ANSWER)
        if closing:
            self.transport.close()


async def main(addr, delay_ms, silent_ms=0, every_ms=1000):
    Service.delay_s = float(delay_ms) / 1000
    Service.silent_s, Service.every_s = float(silent_ms) / 1000, float(every_ms) / 1000
    loop = asyncio.get_running_loop()
    if addr.startswith('/'):
        server = await loop.create_unix_server(Service, addr, backlog=512)
    else:
        host, _, port = addr.rpartition(':')
        server = await loop.create_server(Service, host, int(port), backlog=512)
    await server.serve_forever()


if __name__ == '__main__':
    try:
        asyncio.run(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(0)
