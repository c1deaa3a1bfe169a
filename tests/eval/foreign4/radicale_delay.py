# SPDX-License-Identifier: Apache-2.0
"""Radicale answers a wrong password after a pause, and has room for two connections."""
from kit import foreign, host, servers

CONF = '''
[server]
hosts = 127.0.0.1:%(port)d
max_connections = 2
timeout = 30
[auth]
type = htpasswd
htpasswd_filename = %(dir)s/users
htpasswd_encryption = plain
delay = 0.4
[storage]
filesystem_folder = %(dir)s/collections
[logging]
level = error
'''


def get(user):
    return (r'>GET /.web/ HTTP/1.0\r\nHost: localhost\r\nAuthorization: Basic %s\r\n\r\n' % user,
            '<HTTP/1.[01] [2345]')


class TheCase(foreign.Foreign):
    name = 'radicale-delay'
    about = 'max_connections = 2, and bots whose wrong passwords are answered after 200 to 600 ms'
    hurts = ('', 'p50 ms', 150)
    warm_s = 1

    def setup(self):
        lab, port = self.lab, host.free_port()
        lab.write('users', 'joe:secret\n')
        self.server = servers.ready(lab, lab.spawn(
            ['radicale', '--config', lab.write('conf', CONF % {'dir': lab.dir, 'port': port})]),
            port)
        self.truth_of = foreign.Named('timer', 'workers', 'conn-limit', what='radicale',
                                      party=foreign.process(self.server))

    def load(self):
        self.talk('', 'tcp', self.server.port, *get('am9lOnNlY3JldA=='), conns=3, pause=20,
                  fresh=True)
        self.talk('bots', 'tcp', self.server.port, r'>PROPFIND /joe/ HTTP/1.0\r\nHost: localhost'
                  r'\r\nAuthorization: Basic am9lOndyb25n\r\n\r\n', '<HTTP/1.[01] 40', conns=4,
                  fresh=True)
