# SPDX-License-Identifier: Apache-2.0
"""Three clients send their requests' bodies slowly and keep both sync workers of gunicorn."""
from kit import foreign, host, servers

APP = '''
def app(environ, start):
    environ['wsgi.input'].read()
    start('200 OK', [('Content-Type', 'text/plain'), ('Content-Length', '3')])
    return [b'ok\\n']
'''
HEAD = r'>POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n\r\n'
PIECE = ('~150', '>' + 'x' * 10)


class TheCase(foreign.Foreign):
    name = 'gunicorn-bodies'
    about = 'two sync workers; three clients take 600 ms to send a body, four ask quickly'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        port = host.free_port()
        self.lab.write('app.py', APP)
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['gunicorn', '-w', 2, '-b', '127.0.0.1:%d' % port, '--chdir', self.lab.dir,
             'app:app']), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=20, fresh=True)
        self.talk('slow', 'tcp', self.server.port, HEAD, *PIECE * 4, r'<ok\n', conns=3,
                  fresh=True)
        self.truth_of = foreign.Named(
            'clients', 'workers', 'conn-limit', what='the slow clients, or the two workers',
            party='gunicorn|clients of ' + foreign.address(self.server.port) + '|'
            + foreign.process(self.loads['slow'].proc))
