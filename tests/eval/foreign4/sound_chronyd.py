# SPDX-License-Identifier: Apache-2.0
"""chronyd tells the time to clients, some 90 times a second."""
import os

from kit import foreign, host

CONF = '''
port %(port)d
bindaddress 127.0.0.1
allow 127.0.0.1
local stratum 8
cmdport 0
pidfile %(dir)s/pid
driftfile %(dir)s/drift
bindcmdaddress /
'''


class TheCase(foreign.Healthy):
    name = 'sound-chronyd'
    about = 'chronyd answers some 90 NTP requests a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        os.mkdir(lab.path('state'))
        conf = lab.write('chrony.conf', CONF % {'port': port, 'dir': lab.dir})
        self.server = lab.spawn(['chronyd', '-d', '-x', '-u', 'root', '-f', conf])
        self.server.port = port
        lab.wait_for(self.server, lambda: os.path.exists(lab.path('pid')), 'pid file')

    def load(self):
        self.talk('', 'udp', self.server.port, '>\\x23' + '\\x00' * 39 + 'heldup!!', '<.',
                  conns=3, pause=30, timeout=5)
