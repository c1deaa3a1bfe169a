# SPDX-License-Identifier: Apache-2.0
"""bottle with its plain server, which takes one request at a time, asks a service for each."""
from kit import foreign, host, servers

SERVER = '''
import os, urllib.request
import bottle

@bottle.route('/')
def index():
    urllib.request.urlopen(os.environ['ASK']).read()
    return 'ok\\n'

bottle.run(host='127.0.0.1', port=int(os.environ['PORT']), quiet=True)
'''


class TheCase(foreign.Foreign):
    name = 'bottle-weather'
    about = 'its server takes one request at a time, and each asks a service of 80 ms; four clients'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        lab, port = self.lab, host.free_port()
        behind = servers.upstream(lab, 80)
        self.server = servers.ready(lab, lab.spawn(
            [servers.PYTHON, lab.write('server.py', SERVER)],
            env={'PORT': str(port), 'ASK': 'http://127.0.0.1:%d/' % behind.port}), port)
        self.truth_of = foreign.Named('peer', 'external', 'loop-blocked', what='the service',
                                      party='%s|:%d' % (foreign.process(behind), behind.port))

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET / HTTP/1.0\r\nHost: localhost\r\n\r\n',
                  r'<ok\n', conns=4, fresh=True)
