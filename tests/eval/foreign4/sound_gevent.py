# SPDX-License-Identifier: Apache-2.0
"""gevent: long polls that are answered once in a second, and some 60 quick requests a second."""
from kit import foreign, host, servers

SERVER = '''
import os
import gevent
from gevent import pywsgi
from gevent.event import Event

news = Event()

def app(environ, start):
    if environ['PATH_INFO'] == '/news':
        news.wait()
    start('200 OK', [('Content-Length', '3')])
    return [b'ok\\n']

def tell():
    while True:
        gevent.sleep(1)
        news.set()
        news.clear()

gevent.spawn(tell)
pywsgi.WSGIServer(('127.0.0.1', int(os.environ['PORT'])), app, log=None).serve_forever()
'''


class TheCase(foreign.Healthy):
    name = 'sound-gevent'
    about = 'gevent: four long polls for what comes once a second, and some 60 quick requests'

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            [servers.PYTHON, self.lab.write('server.py', SERVER)], env={'PORT': str(port)}), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=3, pause=50)
        self.talk('news', 'tcp', self.server.port, *foreign.get('/news'), conns=4, pause=10)

    def odd(self, seen):
        return super().odd({name: one for name, one in seen.items() if name != 'news'})
