# SPDX-License-Identifier: Apache-2.0
"""socat forks a process for each connection, which it passes on to a cache on a unix socket."""
import os

from kit import foreign, host, servers

CACHE = '''
import socketserver, sys, threading, time
disk = threading.Lock()

class Cache(socketserver.StreamRequestHandler):
    def handle(self):
        self.rfile.readline()
        with disk:
            time.sleep(0.06)
        self.wfile.write(b'END\\r\\n')

class Server(socketserver.ThreadingUnixStreamServer):
    request_queue_size = 64

Server(sys.argv[1], Cache).serve_forever()
'''


class TheCase(foreign.Foreign):
    name = 'socat-behind'
    about = 'socat passes connections on to a cache, which takes 60 ms one at a time; four clients'
    hurts = ('', 'p50 ms', 150)

    def setup(self):
        lab, port = self.lab, host.free_port()
        cache = lab.spawn([servers.PYTHON, '-c', CACHE, lab.path('cache.sock')])
        lab.wait_for(cache, lambda: os.path.exists(lab.path('cache.sock')), 'socket')
        self.server = servers.ready(lab, lab.spawn(
            ['socat', 'TCP-LISTEN:%d,bind=127.0.0.1,fork,reuseaddr,backlog=64' % port,
             'UNIX-CONNECT:' + lab.path('cache.sock')]), port)
        self.truth_of = foreign.Named(
            'peer', 'external', what='the cache',
            party=foreign.process(cache) + r'|cache\.sock')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>get a\r\n', r'<END\r\n', conns=4, pause=5,
                  fresh=True)
