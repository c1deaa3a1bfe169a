# SPDX-License-Identifier: Apache-2.0
"""A handler of twisted asks a service that takes 80 ms, and blocks the reactor meanwhile."""
from kit import foreign, host, servers

SERVER = '''
import os, urllib.request
from twisted.internet import reactor
from twisted.web import resource, server

class Page(resource.Resource):
    isLeaf = True

    def render_GET(self, request):
        if request.path == b'/ask':
            urllib.request.urlopen(os.environ['ASKED']).read()
        return b'ok\\n'

reactor.listenTCP(int(os.environ['PORT']), server.Site(Page()), interface='127.0.0.1')
reactor.run()
'''


class TheCase(foreign.Foreign):
    name = 'twisted-blocking'
    about = 'one request in some asks a service that takes 80 ms and blocks the reactor'
    hurts = ('', 'p50 ms', 60)

    def setup(self):
        asked = servers.upstream(self.lab, 80)
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            [servers.PYTHON, self.lab.write('server.py', SERVER)],
            env={'PORT': str(port), 'ASKED': 'http://127.0.0.1:%d/' % asked.port}), port)
        self.truth_of = foreign.Named(
            'loop-blocked', 'peer', 'external', what='the service, or the loop that waits for it',
            party=foreign.process(asked) + '|' + foreign.address(asked.port) + '|'
            + foreign.process(self.server))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=20)
        self.talk('ask', 'tcp', self.server.port, *foreign.get('/ask'), conns=2)
