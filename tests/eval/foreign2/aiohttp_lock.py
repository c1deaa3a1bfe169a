# SPDX-License-Identifier: Apache-2.0
"""Handlers of aiohttp ask a service one after the other, behind an asyncio.Lock."""
from kit import foreign, host, servers

SERVER = '''
import asyncio, os
from aiohttp import ClientSession, web

async def page(request):
    async with request.app['lock']:
        async with request.app['session'].get(os.environ['ASKED']) as answer:
            await answer.read()
    return web.Response(text='ok\\n')

async def begin(app):
    app['lock'], app['session'] = asyncio.Lock(), ClientSession()

app = web.Application()
app.on_startup.append(begin)
app.router.add_get('/', page)
web.run_app(app, host='127.0.0.1', port=int(os.environ['PORT']), access_log=None)
'''


class TheCase(foreign.Foreign):
    name = 'aiohttp-lock'
    about = 'handlers ask a service that takes 40 ms, one at a time by asyncio.Lock; eight clients'
    hurts = ('', 'p50 ms', 250)

    def setup(self):
        asked = servers.upstream(self.lab, 40)
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            [servers.PYTHON, self.lab.write('server.py', SERVER)],
            env={'PORT': str(port), 'ASKED': 'http://127.0.0.1:%d/' % asked.port}), port)
        self.truth_of = foreign.Named(
            'peer', 'external', 'conn-limit', what='the service',
            party=foreign.process(asked) + '|' + foreign.address(asked.port))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=8)
