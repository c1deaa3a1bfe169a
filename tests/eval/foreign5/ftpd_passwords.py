# SPDX-License-Identifier: Apache-2.0
"""pyftpdlib asks a service for each password, and its loop waits for the answer."""
from kit import foreign, host, servers

SERVER = '''
import os, urllib.request
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer

class Asks(DummyAuthorizer):
    def validate_authentication(self, user, password, handler):
        urllib.request.urlopen(os.environ['ASK']).read()

Asks.msg = ''
users = Asks()
users.add_user('a', 'b', '/tmp')
FTPHandler.authorizer = users
server = FTPServer(('127.0.0.1', int(os.environ['PORT'])), FTPHandler)
server.max_cons_per_ip = 0
server.serve_forever()
'''


class TheCase(foreign.Foreign):
    name = 'ftpd-passwords'
    about = 'the event loop of pyftpdlib asks a service of 90 ms for each password; four clients'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        lab, port = self.lab, host.free_port()
        behind = servers.upstream(lab, 90)
        self.server = servers.ready(lab, lab.spawn(
            [servers.PYTHON, lab.write('server.py', SERVER)],
            env={'PORT': str(port), 'ASK': 'http://127.0.0.1:%d/' % behind.port}), port)
        self.truth_of = foreign.Named('peer', 'external', 'loop-blocked', what='the service',
                                      party='%s|:%d' % (foreign.process(behind), behind.port))

    def load(self):
        self.talk('', 'tcp', self.server.port, r'<220', r'>USER a\r\n', r'<331',
                  r'>PASS b\r\n', r'<230', conns=4, fresh=True)
