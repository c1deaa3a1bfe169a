# SPDX-License-Identifier: Apache-2.0
"""zookeeper answers `ruok`, 50 times a second."""
import glob

from kit import foreign, host, servers

CONF = '''
tickTime=2000
dataDir=%(dir)s/data
clientPort=%(port)d
clientPortAddress=127.0.0.1
admin.enableServer=false
4lw.commands.whitelist=*
maxClientCnxns=0
'''


class TheCase(foreign.Healthy):
    name = 'sound-zookeeper'
    about = 'zookeeper, some 50 connections a second that ask `ruok`'

    def setup(self):
        port = host.free_port()
        conf = self.lab.write('zoo.cfg', CONF % {'dir': self.lab.dir, 'port': port})
        path = '/etc/zookeeper/conf:' + ':'.join(glob.glob('/usr/share/java/*.jar'))
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['java', '-Xmx128m', '-cp', path, '-Dzookeeper.log.dir=' + self.lab.dir,
             'org.apache.zookeeper.server.quorum.QuorumPeerMain', conf]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, '>ruok', '<imok', conns=2, pause=40, fresh=True)
