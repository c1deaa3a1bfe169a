#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process whose threads each wait in one way, for t_exact: mix.py [NAME...]

Prints one line of JSON, {name: thread id, "ports": {name: port}}, then runs until it is killed.  A
name with _w behind it is the thread that wakes the one without.
"""
import atexit
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
BEAT = 0.02
tids = {}
ports = {}
wanted = set(sys.argv[1:])


def thread(name, fn):
    """Starts fn in a loop of its own; a thread that cannot work is not in tids."""
    ready = threading.Event()

    def body():
        tids[name] = threading.get_native_id()
        ready.set()
        while True:
            fn()

    threading.Thread(target=body, daemon=True).start()
    ready.wait()


def pair(name, wait, wake, every=BEAT):
    if wanted and name not in wanted:
        return
    thread(name, wait)

    def beat():
        time.sleep(every)
        wake()

    thread(name + '_w', beat)


def alone(name, fn):
    if not wanted or name in wanted:
        thread(name, fn)


def make_lock():
    """Two threads that hold one pthread mutex in turn, without the interpreter's lock."""
    mutex = ctypes.create_string_buffer(64)
    libc.pthread_mutex_init(mutex, None)

    def hold():
        libc.pthread_mutex_lock(mutex)
        libc.usleep(4000)
        libc.pthread_mutex_unlock(mutex)
        libc.usleep(100)

    if not wanted or 'lock' in wanted:
        thread('lock', hold)
        thread('lock2', hold)


def make_pipe():
    r, w = os.pipe()
    pair('pipe', lambda: os.read(r, 1), lambda: os.write(w, b'x'))


def make_pair():
    a, b = socket.socketpair()
    pair('pair', lambda: a.recv(1), lambda: b.send(b'x'))


def make_tcp():
    server = socket.create_server(('127.0.0.1', 0))
    a = socket.create_connection(server.getsockname())
    b, _ = server.accept()
    pair('tcp', lambda: a.recv(1), lambda: b.send(b'x'))
    pair('accept', lambda: server.accept()[0].close(),
         lambda: socket.create_connection(server.getsockname()).close())


def make_turns():
    """Requests of 4 bytes: `slow` takes 3 ms to answer, `fast` is asked as fast as it goes."""
    for name, work, pause in (('slow', 0.003, 0.004), ('fast', 0, 0)):
        if wanted and name not in wanted:
            continue
        server = socket.create_server(('127.0.0.1', 0))
        a = socket.create_connection(server.getsockname())
        b, _ = server.accept()
        ports[name] = server.getsockname()[1]

        # a listener that is closed would make both ends look like clients
        def serve(b=b, work=work, server=server):
            b.recv(4)
            time.sleep(work) if work else None
            b.send(b'done')

        def ask(a=a, pause=pause):
            a.send(b'work')
            a.recv(4)
            time.sleep(pause) if pause else None

        thread(name, serve)
        thread(name + '_client', ask)


def make_epoll():
    r, w = os.pipe()
    ep = select.epoll()
    ep.register(r, select.EPOLLIN)

    def wait():
        ep.poll()
        os.read(r, 1)

    pair('epoll', wait, lambda: os.write(w, b'x'))


def make_poll():
    r, w = os.pipe()
    p = select.poll()
    p.register(r, select.POLLIN)

    def wait():
        p.poll()
        os.read(r, 1)

    pair('poll', wait, lambda: os.write(w, b'x'))
    quiet = os.pipe()[0]
    q = select.poll()
    q.register(quiet, select.POLLIN)
    alone('poll_timeout', lambda: q.poll(10))
    alone('select', lambda: select.select([quiet], [], [], 0.01))
    alone('select_none', lambda: select.select([], [], [], 0.01))
    alone('poll_none', lambda: libc.poll(None, 0, 10))


def make_files():
    f = tempfile.TemporaryFile(dir='/var/tmp')

    def sync():
        f.write(b'x' * 5000)
        f.flush()
        os.fsync(f.fileno())
        time.sleep(0.005)

    alone('fsync', sync)
    name = tempfile.NamedTemporaryFile()

    def lock():
        with open(name.name) as g:
            fcntl.flock(g, fcntl.LOCK_EX)
            time.sleep(0.005)
        time.sleep(0.0005)

    alone('flock', lock)
    if 'flock' in tids:
        thread('flock2', lock)


def make_events():
    e = os.eventfd(0)
    pair('eventfd', lambda: os.read(e, 8), lambda: os.write(e, b'\1\0\0\0\0\0\0\0'))
    t = libc.timerfd_create(1, 0)
    spec = (ctypes.c_long * 4)(0, 10000000, 0, 10000000)
    libc.timerfd_settime(t, 0, spec, None)
    alone('timerfd', lambda: os.read(t, 8))


def make_mq():
    q = libc.msgget(0, 0o1600)
    if q < 0:
        return
    msg = ctypes.create_string_buffer(b'\1' + bytes(15), 16)
    got = ctypes.create_string_buffer(64)
    pair('mq', lambda: libc.msgrcv(q, got, 8, 0, 0), lambda: libc.msgsnd(q, msg, 8, 0))
    atexit.register(libc.msgctl, q, 0, None)


def make_rest():
    alone('sleep', lambda: time.sleep(0.005))
    alone('child', lambda: subprocess.call(['sleep', '0.02']))
    alone('sigwait', lambda: signal.sigtimedwait([signal.SIGUSR2], 0.01))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    if wanted & {'slow', 'fast'}:
        make_turns()
    for make in (make_lock, make_pipe, make_pair, make_tcp, make_epoll, make_poll, make_files,
                 make_events, make_mq, make_rest):
        make()
    print(json.dumps({**tids, 'ports': ports}), flush=True)
    while True:
        time.sleep(1000)


if __name__ == '__main__':
    main()
