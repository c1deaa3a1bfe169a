#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A service that answers each request after a delay: upstream.py ADDR DELAY_MS

ADDR is HOST:PORT or a path for a unix socket.  Speaks HTTP/1.1 with
keep-alive; all requests wait at once, none holds another up.
"""
import asyncio
import sys

BODY = b'ok\n'
ANSWER = (b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n'
          % len(BODY)) + BODY


class Service(asyncio.Protocol):
    delay_s = 0.0

    def connection_made(self, transport):
        self.transport = transport
        self.data = b''

    def data_received(self, data):
        self.data += data
        while b'\r\n\r\n' in self.data:
            head, _, self.data = self.data.partition(b'\r\n\r\n')
            closing = b'connection: close' in head.lower() or b' HTTP/1.0' in head
            if self.delay_s:
                asyncio.get_running_loop().call_later(self.delay_s, self.answer, closing)
            else:
                self.answer(closing)

    def answer(self, closing):
        if self.transport.is_closing():
            return
        self.transport.write(ANSWER)
        if closing:
            self.transport.close()


async def main(addr, delay_ms):
    Service.delay_s = float(delay_ms) / 1000
    loop = asyncio.get_running_loop()
    if addr.startswith('/'):
        server = await loop.create_unix_server(Service, addr, backlog=512)
    else:
        host, _, port = addr.rpartition(':')
        server = await loop.create_server(Service, host, int(port), backlog=512)
    await server.serve_forever()


if __name__ == '__main__':
    try:
        asyncio.run(main(sys.argv[1], sys.argv[2]))
    except KeyboardInterrupt:
        sys.exit(0)
