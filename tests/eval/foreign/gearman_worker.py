# SPDX-License-Identifier: Apache-2.0
"""gearmand has one worker that sleeps 60 ms over each job; six clients."""
from kit import foreign, host, servers

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
        time.sleep(0.06)
        put(13, data.split(b'\\0')[0] + b'\\0done')
'''
JOB = r'>\0REQ\0\0\0\x07\0\0\0\x0awork\0\0data'


class TheCase(foreign.Foreign):
    name = 'gearman-worker'
    about = 'gearmand with one worker, 60 ms a job, six clients'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['gearmand', '-L', '127.0.0.1', '-p', port, '-l', 'stderr', '-u', 'nobody']), port)
        worker = self.lab.spawn([servers.PYTHON, self.lab.write('worker.py', WORKER), port])
        self.truth_of = foreign.Named('peer', 'external', 'workers', what='the worker process',
                                      party=foreign.process(worker))

    def load(self):
        self.talk('', 'tcp', self.server.port, JOB, r'<\0RES\0\0\0\x0d.*done', conns=6)
