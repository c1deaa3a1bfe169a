# SPDX-License-Identifier: Apache-2.0
"""eventlet hands blocking work to its pool of threads, which has two."""
from kit import foreign, host, servers

SERVER = '''
import os, time
import eventlet
from eventlet import tpool, wsgi

def app(env, start_response):
    tpool.execute(time.sleep, 0.07)
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [b'ok\\n']

wsgi.server(eventlet.listen(('127.0.0.1', int(os.environ['PORT']))), app, log_output=False)
'''


class TheCase(foreign.Foreign):
    name = 'eventlet-tpool'
    about = 'tpool.execute of 70 ms with two threads, eight clients'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            [servers.PYTHON, lab.write('server.py', SERVER)],
            env={'PORT': str(port), 'EVENTLET_THREADPOOL_SIZE': '2'}), port)
        self.truth_of = foreign.Named('workers', 'timer', what='the threads of the pool',
                                      party=foreign.process(self.server))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=8)
