# SPDX-License-Identifier: Apache-2.0
"""A plugin of munin-node runs curl to ask a device, which answers after 300 ms."""
import os

from kit import foreign, host, more_servers, servers

CONF = '''
log_level 0
log_file %(dir)s/munin.log
pid_file %(dir)s/munin.pid
background 0
setsid 0
user root
group root
host 127.0.0.1
port %(port)d
allow ^127\\.0\\.0\\.1$
'''
PLUGIN = '''#!/bin/sh
echo "load.value $(curl -s http://%s:%d/ | wc -c)"
'''


class TheCase(foreign.Foreign):
    name = 'munin-device'
    about = 'a plugin, a shell script, asks a device on another host by curl; three clients'
    hurts = ('', 'p50 ms', 250)
    warm_s = 2

    def setup(self):
        lab, port = self.lab, host.free_port()
        far = more_servers.RemoteHost(lab, 95)
        device = far.upstream(lab, 300)
        os.mkdir(lab.path('etc'))
        lab.write('plugins/ups', PLUGIN % (far.address, device.port), mode=0o755)
        conf = lab.write('munin.conf', CONF % {'dir': lab.dir, 'port': port})
        self.server = servers.ready(lab, lab.spawn(
            ['unshare', '-m', 'sh', '-c', 'mount --bind %s /etc/munin/plugins && '
             'mount --bind %s /etc/munin/plugin-conf.d && exec munin-node --config %s'
             % (lab.path('plugins'), lab.path('etc'), conf)]), port)
        self.truth_of = foreign.Named(
            'external', 'peer', what="the device's address",
            party=foreign.process(device) + '|' + foreign.address(device.port, far.address))

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>fetch ups\n', r'<load.value \d+\n\.\n', conns=3,
                  pause=20, opening=('<munin node',))
