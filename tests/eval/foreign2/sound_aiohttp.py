# SPDX-License-Identifier: Apache-2.0
"""Six clients of aiohttp wait for the next event, one a second; others get quick answers."""
from kit import foreign, host, servers

SERVER = '''
import asyncio, os
from aiohttp import web

async def quick(request):
    return web.Response(text='ok\\n')

async def next_event(request):
    await request.app['event'].wait()
    return web.Response(text='ok\\n')

async def tick(app):
    while True:
        await asyncio.sleep(1)
        app['event'].set()
        app['event'] = asyncio.Event()

async def begin(app):
    app['event'] = asyncio.Event()
    app['tick'] = asyncio.create_task(tick(app))

app = web.Application()
app.on_startup.append(begin)
app.router.add_get('/', quick)
app.router.add_get('/next', next_event)
web.run_app(app, host='127.0.0.1', port=int(os.environ['PORT']), access_log=None)
'''


class TheCase(foreign.Healthy):
    name = 'sound-aiohttp'
    about = 'aiohttp: six clients poll for an event a second, others ask 60 times a second'

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            [servers.PYTHON, self.lab.write('server.py', SERVER)], env={'PORT': str(port)}), port)

    def load(self):
        self.waiting = foreign.Talk(self.lab, 'tcp', self.server.port, *foreign.get('/next'),
                                    conns=6)
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=2, pause=30)
