# SPDX-License-Identifier: Apache-2.0
"""An application looks words up in a mapped file that is larger than its cgroup's memory."""
import os

from kit import foreign, host, servers

SIZE = 512 << 20
LIMIT = 96 << 20
SERVER = '''
import mmap, os, random
import uvicorn

with open(os.environ['INDEX'], 'rb') as f:
    index = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)

async def app(scope, receive, send):
    assert scope['type'] == 'http'
    if scope['path'] == '/find':
        for _ in range(15):
            index[random.randrange(len(index))]
    await send({'type': 'http.response.start', 'status': 200,
                'headers': [(b'content-length', b'3')]})
    await send({'type': 'http.response.body', 'body': b'ok\\n'})

uvicorn.run(app, host='127.0.0.1', port=int(os.environ['PORT']), lifespan='off',
            access_log=False, log_level='warning')
'''


class TheCase(foreign.Foreign):
    name = 'uvicorn-mmap'
    about = 'random reads of a mapped file of 512 MB in a cgroup with 96 MB; four clients'
    hurts = ('', 'p50 ms', 60)

    def setup(self):
        lab, group, port = self.lab, self.lab.cgroup('memory'), host.free_port()
        with open(os.path.join(group.dir, 'memory.max' if group.v2 else
                               'memory.limit_in_bytes'), 'w') as f:
            f.write(str(LIMIT))
        index = lab.path('index')
        with open(index, 'wb') as f:
            for _ in range(SIZE >> 20):
                f.write(os.urandom(1 << 20))
            f.flush()
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.server = servers.ready(lab, lab.spawn(
            [servers.PYTHON, lab.write('server.py', SERVER)], cgroup=group,
            env={'PORT': str(port), 'INDEX': index}), port)
        disk = host.disk_of(lab.dir)[1]
        self.truth_of = foreign.Named(
            'memory', 'disk-own', what="the server's page faults, its cgroup, or the disk",
            party='|'.join((foreign.process(self.server), group.name, disk, 'index')))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/find'), conns=4)
