# SPDX-License-Identifier: Apache-2.0
"""app_python.py threads|queue|executor PORT UPSTREAM_PORT: GET /KIND/ID."""
import concurrent.futures
import queue
import selectors
import socket
import sys
import threading

MODE, PORT, UPSTREAM = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
REPLY = b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n'
own = threading.local()
pool = concurrent.futures.ThreadPoolExecutor(8)


def upstream(i=0):
    if not hasattr(own, 'upstreams'):
        own.upstreams = [socket.create_connection(('127.0.0.1', UPSTREAM)) for _ in range(2)]
    return own.upstreams[i]


def send(number, n, i=0):
    upstream(i).sendall(b'GET /%s/%d HTTP/1.1\r\nHost: u\r\n\r\n' % (number, n))


def receive(i=0):
    data = b''
    while not data.endswith(b'ok\n'):
        data += upstream(i).recv(4096)


def call(number, n):
    send(number, n)
    receive()


def calls(kind, number):
    if kind == b'par':
        send(number, 0)
        send(number, 1, 1)
        receive()
        receive(1)
        return
    for n in range(2 if kind == b'two' else 1):
        call(number, n)


def calls_by_pool(kind, number):
    if kind == b'par':
        for f in [pool.submit(call, number, n) for n in range(2)]:
            f.result()
        return
    for n in range(2 if kind == b'two' else 1):
        pool.submit(call, number, n).result()


def parts(data):
    _, kind, number = data.split()[1].split(b'/')
    return kind, number


def serve(conn):
    while True:
        data = conn.recv(4096)
        if not data:
            return
        (calls_by_pool if MODE == 'executor' else calls)(*parts(data))
        conn.sendall(REPLY)


def work(jobs):
    while True:
        conn, data = jobs.get()
        calls(*parts(data))
        conn.sendall(REPLY)


def read_all(listener):
    """One thread reads for all connections; workers reply."""
    jobs, poll = queue.Queue(), selectors.DefaultSelector()
    for _ in range(8):
        threading.Thread(target=work, args=(jobs,), daemon=True).start()
    poll.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in poll.select():
            if key.fileobj is listener:
                poll.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            data = key.fileobj.recv(4096)
            if data:
                jobs.put((key.fileobj, data))
            else:
                poll.unregister(key.fileobj)


listener = socket.create_server(('127.0.0.1', PORT), backlog=512)
if MODE == 'queue':
    read_all(listener)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
