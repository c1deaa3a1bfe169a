# SPDX-License-Identifier: Apache-2.0
"""atftpd serves a file of 20 kB some 30 times a second."""
import os

from kit import foreign, host


class TheCase(foreign.Healthy):
    name = 'sound-atftpd'
    about = 'atftpd: machines that boot read a file of 20 kB, some 30 a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        os.mkdir(lab.path('boot'))
        lab.write('boot/image', 'x' * 20480)
        self.server = lab.spawn(
            ['atftpd', '--daemon', '--no-fork', '--user', 'nobody.nogroup', '--bind-address',
             '127.0.0.1', '--port', port, '--verbose=3', lab.path('boot')])
        lab.wait_for(self.server, lambda: self.answers(port), 'answer')
        self.server.port = port

    def answers(self, port):
        try:
            return self.lab.call(['curl', '-s', '-f', '-m', '2',
                                  'tftp://127.0.0.1:%d/image' % port])
        except foreign.LabError:
            return False

    def load(self):
        self.talk('', 'run', 'curl -s -f -o /dev/null tftp://127.0.0.1:%d/image'
                  % self.server.port, conns=2, pause=50)
