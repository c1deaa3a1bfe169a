# SPDX-License-Identifier: Apache-2.0
"""tornado hands requests to a pool of one thread, which takes 50 ms for each."""
from kit import foreign, host, servers

SERVER = '''
import concurrent.futures, os, time
import tornado.ioloop, tornado.web

pool = concurrent.futures.ThreadPoolExecutor(1)

class Handler(tornado.web.RequestHandler):
    async def get(self):
        await tornado.ioloop.IOLoop.current().run_in_executor(pool, time.sleep, 0.05)
        self.write('ok\\n')

tornado.web.Application([('/', Handler)]).listen(int(os.environ['PORT']), '127.0.0.1')
tornado.ioloop.IOLoop.current().start()
'''


class TheCase(foreign.Foreign):
    name = 'tornado-executor'
    about = 'run_in_executor with one thread, 50 ms a request, eight clients'
    hurts = ('', 'p50 ms', 300)

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            [servers.PYTHON, self.lab.write('server.py', SERVER)], env={'PORT': str(port)}), port)
        self.truth_of = foreign.Named('workers', 'timer', what='the thread of the pool',
                                      party=foreign.process(self.server))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=8)
