# SPDX-License-Identifier: Apache-2.0
"""hypercorn runs an application that locks a file, which another program keeps for a while."""
from kit import foreign, host, servers

APP = '''
import fcntl, os

async def app(scope, receive, send):
    if scope['type'] != 'http':
        return
    with open(os.environ['COUNTER'], 'a') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.write('.')
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    await send({'type': 'http.response.body', 'body': b'ok\\n'})
'''
KEEPER = '''
import fcntl, sys, time
while True:
    with open(sys.argv[1], 'a') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        time.sleep(0.35)
    time.sleep(0.15)
'''


class TheCase(foreign.Foreign):
    name = 'hypercorn-flock'
    about = 'the event loop waits for a locked file, which another program keeps for 350 of 500 ms'
    hurts = ('', 'p99 ms', 250)

    def setup(self):
        lab, port = self.lab, host.free_port()
        lab.write('app.py', APP)
        counter = lab.write('counter', '')
        self.server = servers.ready(lab, lab.spawn(
            [servers.PYTHON, '-m', 'hypercorn', '-b', '127.0.0.1:%d' % port, 'app:app'],
            env={'COUNTER': counter, 'PYTHONPATH': lab.dir}), port)
        keeper = lab.spawn([servers.PYTHON, lab.write('keeper.py', KEEPER), counter])
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', 'loop-blocked', what='the file, or who keeps it locked',
            party=foreign.process(keeper) + '|counter')

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=3, pause=20)
