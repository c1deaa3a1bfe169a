# SPDX-License-Identifier: Apache-2.0
"""Werkzeug's server reads from one connection at a time, and a browser opens some in advance."""
from kit import foreign, host, servers

SERVER = '''
import os
from werkzeug.serving import run_simple
from werkzeug.wrappers import Request, Response

@Request.application
def app(request):
    return Response('ok\\n')

run_simple('127.0.0.1', int(os.environ['PORT']), app, threaded=False)
'''
BROWSER = '''
import socket, sys, time
while True:
    with socket.create_connection(('127.0.0.1', int(sys.argv[1]))):
        time.sleep(0.6)		# perhaps a link will be clicked
    time.sleep(0.2)
'''


class TheCase(foreign.Foreign):
    name = 'werkzeug-preconnect'
    about = 'a connection on which nothing is asked keeps the only thread for 600 of 800 ms'
    hurts = ('', 'p99 ms', 400)

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            [servers.PYTHON, lab.write('server.py', SERVER)], env={'PORT': str(port)}), port)

    def load(self):
        browser = self.lab.spawn([servers.PYTHON, self.lab.write('browser.py', BROWSER),
                                  self.server.port])
        self.talk('', 'tcp', self.server.port, r'>GET / HTTP/1.0\r\nHost: localhost\r\n\r\n',
                  r'<ok\n', conns=3, pause=20, fresh=True)
        self.truth_of = foreign.Named(
            'clients', 'workers', 'conn-limit', 'loop-blocked',
            what='the silent client, or the only thread that reads from it',
            party='|'.join((foreign.process(browser), foreign.process(self.server),
                            'clients of 127')))
