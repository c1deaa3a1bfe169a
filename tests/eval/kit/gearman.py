# SPDX-License-Identifier: Apache-2.0
"""gearmand, its workers, and a job as a dialogue; same contract as servers.py."""
from . import host
from .servers import PYTHON, ready

WORKER = '''
import socket, struct, sys, time
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
f = s.makefile('rb')

def put(kind, data=b''):
    s.sendall(b'\\0REQ' + struct.pack('>II', kind, len(data)) + data)

put(1, b'work')
while True:
    put(9)
    _, kind, length = struct.unpack('>4sII', f.read(12))
    data = f.read(length)
    if kind == 10:		# no job
        put(4)
        f.read(12)
    elif kind == 11:
        time.sleep(int(sys.argv[2]) / 1000)
        put(13, data.split(b'\\0')[0] + b'\\0done')
'''
JOB = (r'>\0REQ\0\0\0\x07\0\0\0\x0awork\0\0data', r'<\0RES\0\0\0\x0d.*done')


def server(lab):
    port = host.free_port()
    return ready(lab, lab.spawn(['gearmand', '-L', '127.0.0.1', '-p', port, '-l', 'stderr',
                                 '-u', 'nobody']), port)


def worker(lab, port, job_ms):
    return lab.spawn([PYTHON, lab.write('worker.py', WORKER), port, job_ms])
