# SPDX-License-Identifier: Apache-2.0
"""twemproxy before a cache on a unix socket, which takes 70 ms for each key."""
import os

from kit import foreign, host, servers

CONF = '''
pool:
  listen: 127.0.0.1:%(port)d
  hash: fnv1a_64
  distribution: ketama
  timeout: 60000
  servers:
   - "%(dir)s/cache.sock:1 cache"
'''
CACHE = '''
import socketserver, sys, threading, time
disk = threading.Lock()

class Cache(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            with disk:
                time.sleep(0.07)
            self.wfile.write(b'END\\r\\n')

socketserver.ThreadingUnixStreamServer(sys.argv[1], Cache).serve_forever()
'''


class TheCase(foreign.Foreign):
    name = 'nutcracker-unix'
    about = 'twemproxy asks a cache on a unix socket: 70 ms, one at a time; four clients'
    hurts = ('', 'p50 ms', 150)

    def setup(self):
        lab, port = self.lab, host.free_port()
        cache = lab.spawn([servers.PYTHON, '-c', CACHE, lab.path('cache.sock')])
        lab.wait_for(cache, lambda: os.path.exists(lab.path('cache.sock')), 'socket')
        conf = lab.write('nutcracker.yml', CONF % {'port': port, 'dir': lab.dir})
        self.server = servers.ready(lab, lab.spawn(
            ['nutcracker', '-c', conf, '-o', lab.path('log'), '-p', lab.path('pid'),
             '-s', host.free_port(), '-a', '127.0.0.1']), port)
        self.truth_of = foreign.Named(
            'peer', 'external', what='the cache',
            party=foreign.process(cache) + r'|cache\.sock')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>get a\r\n', r'<END\r\n', conns=4, pause=10)
