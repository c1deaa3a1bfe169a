# SPDX-License-Identifier: Apache-2.0
"""h2o serves a file 200 times a second."""
from kit import foreign, host, servers

CONF = '''
listen: { host: 127.0.0.1, port: %(port)d }
num-threads: 2
user: root
hosts: { default: { paths: { /: { file.dir: %(dir)s/www } } } }
'''


class TheCase(foreign.Healthy):
    name = 'sound-h2o'
    about = 'h2o with two threads, a file 200 times a second'

    def setup(self):
        self.lab.write('www/file.txt', 'ok\n')
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['h2o', '-c', self.lab.write('h2o.conf', CONF % {'port': port,
                                                            'dir': self.lab.dir})]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/file.txt'), conns=4, pause=20)
