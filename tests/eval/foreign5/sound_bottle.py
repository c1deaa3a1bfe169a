# SPDX-License-Identifier: Apache-2.0
"""bottle with its plain server: a request at a time, each quick."""
from kit import foreign, host, servers

SERVER = '''
import os
import bottle

@bottle.route('/')
def index():
    return 'ok\\n'

bottle.run(host='127.0.0.1', port=int(os.environ['PORT']), quiet=True)
'''


class TheCase(foreign.Healthy):
    name = 'sound-bottle'
    about = 'bottle: some 60 requests a second, one at a time'

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            [servers.PYTHON, lab.write('server.py', SERVER)], env={'PORT': str(port)}), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET / HTTP/1.0\r\nHost: localhost\r\n\r\n',
                  r'<ok\n', conns=2, pause=30, fresh=True)
