# SPDX-License-Identifier: Apache-2.0
"""Each answer is written in two pieces, and the second waits for the client's delayed ACK."""

from kit import host, load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect

SERVER = '''
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = bool(os.environ['NODELAY'])

    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '3')
        self.end_headers()
        self.wfile.write(b'ok\\n')

    def log_message(self, *args):
        pass

ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
'''


class TheCase(Case):
    name = 'python-nagle'
    about = 'http.server writes head and body apart, without TCP_NODELAY; 8 clients'
    labels = ('extra',)
    expect = {
        'degraded': Expect('clients', resource='TCP_NODELAY'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        port = host.free_port()
        proc = self.lab.spawn([servers.PYTHON, self.lab.write('server.py', SERVER)],
                              env={'PORT': str(port), 'NODELAY': '' if self.degraded else '1'})
        self.server = servers.ready(self.lab, proc, port)

    def load(self):
        self.loads[''] = load.Client(self.lab, 'http', self.server.port, 8,
                                     rate=50 if self.calm else 0)

    def select(self):
        return ['-p', str(self.server.pid)]
