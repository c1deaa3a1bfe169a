# SPDX-License-Identifier: Apache-2.0
"""rrdcached takes values and writes them to files now and then."""
from kit import foreign, host, servers


class TheCase(foreign.Healthy):
    name = 'sound-rrdcached'
    about = 'rrdcached: three clients with some 100 values a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.rrd = lab.path('a.rrd')
        lab.call(['rrdtool', 'create', self.rrd, '--start', '1000000000', '--step', '1',
                  'DS:a:GAUGE:60:0:U', 'RRA:AVERAGE:0.5:1:1000'])
        self.server = servers.ready(lab, lab.spawn(
            ['rrdcached', '-g', '-l', '127.0.0.1:%d' % port, '-p', lab.path('pid'),
             '-j', lab.dir, '-b', lab.dir, '-w', 2, '-f', 4]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>PENDING a.rrd\n', r'<^-?\d.*\n', conns=1,
                  pause=50)
        self.talk('values', 'tcp', self.server.port, r'>UPDATE a.rrd N:1\n', r'<^-?\d.*\n',
                  conns=2, pause=20)
