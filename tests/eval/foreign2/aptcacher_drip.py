# SPDX-License-Identifier: Apache-2.0
"""apt-cacher-ng gets packages from a mirror that sends 200 kB a second."""
import os

from kit import foreign, host, servers

CONF = '''
CacheDir: %(dir)s/cache
LogDir: %(dir)s/cache
SocketPath: %(dir)s/cache/socket
BindAddress: 127.0.0.1
Port: %(port)d
ForeGround: 1
AllowUserPorts: 0
ReportPage:
'''
MIRROR = '''
import os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Type', 'application/octet-stream')
        self.send_header('Content-Length', str(200 * 1024))
        self.send_header('Last-Modified', 'Mon, 02 Jan 2023 00:00:00 GMT')
        self.end_headers()
        for _ in range(50):
            self.wfile.write(b'x' * 4096)
            time.sleep(0.02)

    def log_message(self, *args):
        pass

ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
'''


def low_port():
    """apt-cacher-ng takes no port over 32767 for an address."""
    return next(port for port in range(20000 + os.getpid() % 9000, 32768)
                if not host.port_open(port))


class TheCase(foreign.Foreign):
    name = 'aptcacher-drip'
    about = 'packages that are not in the cache come from a mirror with 200 kB a second'
    hurts = ('', 'p50 ms', 900)

    def setup(self):
        lab, port = self.lab, low_port()
        mirror = host.free_port()
        self.mirror = servers.ready(lab, lab.spawn(
            [servers.PYTHON, lab.write('mirror.py', MIRROR), mirror]), mirror)
        os.mkdir(lab.path('cache'))
        lab.write('acng/acng.conf', CONF % {'dir': lab.dir, 'port': port})
        self.server = servers.ready(lab, lab.spawn(
            ['apt-cacher-ng', '-c', lab.path('acng')]), port)
        self.truth_of = foreign.Named(
            'peer', 'external', what='the mirror',
            party=foreign.process(self.mirror) + '|' + foreign.address(mirror))

    def load(self):
        self.talk('', 'run', 'curl -s -f -o /dev/null -x http://127.0.0.1:%d '
                  'http://127.0.0.1:%d/pool/p_$$_$(date +%%N).deb'
                  % (self.server.port, self.mirror.port), conns=3, pause=20)
