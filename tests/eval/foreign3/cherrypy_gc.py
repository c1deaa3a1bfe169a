# SPDX-License-Identifier: Apache-2.0
"""Each request of a CherryPy application ends with gc.collect(), and its cache is large."""
from kit import foreign, host, servers

SERVER = '''
import gc, os
import cherrypy

cache = {i: [str(i), {'stock': i % 7}] for i in range(150000)}

class Shop:
    @cherrypy.expose
    def index(self):
        text = 'ok %d\\n' % len(cache)
        gc.collect()	# "or the memory grows"
        return text

cherrypy.config.update({'server.socket_host': '127.0.0.1', 'environment': 'production',
                        'server.socket_port': int(os.environ['PORT'])})
cherrypy.quickstart(Shop())
'''


class TheCase(foreign.Foreign):
    name = 'cherrypy-gc'
    about = 'gc.collect() at the end of each request, with 450,000 objects; four clients'
    hurts = ('', 'p50 ms', 60)

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            [servers.PYTHON, self.lab.write('server.py', SERVER)], env={'PORT': str(port)}), port)
        self.truth_of = foreign.Named(
            'cpu-own', 'lock-held', 'lock-convoy', what='python3, which computes under its lock',
            party=foreign.process(self.server), function='gc_collect|update_refs|visit_')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
                  r'<ok \d+\n', conns=4)
