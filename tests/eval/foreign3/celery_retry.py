# SPDX-License-Identifier: Apache-2.0
"""Tasks of celery ask a service that is down most of the time, and try again after 400 ms."""
from kit import foreign, host, servers

TASKS = '''
import os, socket
from celery import Celery

app = Celery('tasks', broker=os.environ['REDIS'] + '/0', backend=os.environ['REDIS'] + '/1')

@app.task(bind=True, max_retries=None)
def ship(self):
    try:
        with socket.create_connection(('127.0.0.1', int(os.environ['STORE'])), 2) as s:
            s.recv(10)
    except OSError as error:
        raise self.retry(exc=error, countdown=0.4)
    return 'ok'
'''
WEB = '''
import tasks

def handle(path):
    return tasks.ship.delay().get(timeout=60) + '\\n'
'''
STORE = '''
import socket, sys, time
while True:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(('127.0.0.1', int(sys.argv[1])))
        s.listen(50)
        s.settimeout(0.05)
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            try:
                s.accept()[0].sendall(b'ok\\n')
            except OSError:
                pass
    time.sleep(1.2)		# it starts again
'''


class TheCase(foreign.Foreign):
    name = 'celery-retry'
    about = 'tasks ask a service that refuses for 1.2 of 1.5 s, and try again after 400 ms'
    hurts = ('', 'p99 ms', 500)
    warm_s = 2

    def setup(self):
        lab, store = self.lab, host.free_port()
        env = {'REDIS': 'redis://127.0.0.1:%d' % servers.redis(lab).port, 'STORE': str(store)}
        lab.spawn([servers.PYTHON, lab.write('store.py', STORE), store])
        lab.write('tasks.py', TASKS)
        self.server = lab.spawn(['celery', '-A', 'tasks', 'worker', '-c', 2, '-l', 'warning',
                                 '--without-gossip', '--without-mingle'], env=env)
        port = host.free_port()
        web = lab.spawn([servers.PYTHON, lab.write('web.py', WEB + servers.PYTHON_SERVER)],
                        env=dict(env, PORT=str(port)))
        self.web = servers.ready(lab, web, port)
        self.truth_of = foreign.Named(
            'external', 'peer', 'timer', what="the service's address, which refuses",
            party=foreign.address(store))

    def load(self):
        self.talk('', 'tcp', self.web.port, *foreign.GET, conns=4, pause=10)
