# SPDX-License-Identifier: Apache-2.0
"""postsrsd rewrites addresses for a mail server that keeps its connections."""
from kit import foreign, host, servers


class TheCase(foreign.Healthy):
    name = 'sound-postsrsd'
    about = 'postsrsd: three connections that are kept, some 90 addresses a second'

    def setup(self):
        lab, forward, back = self.lab, host.free_port(), host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            ['postsrsd', '-s', lab.write('secret', 'long enough\n'), '-d', 'x.test', '-l',
             '127.0.0.1', '-f', forward, '-r', back]), forward)

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>get a@y.test\n', r'<^200 .*\n', conns=3,
                  pause=30)
