# SPDX-License-Identifier: Apache-2.0
"""snmpd asks a subagent by its AgentX socket, and that runs a program that takes 150 ms."""
import os

from kit import foreign, host

MASTER = '''
agentAddress udp:127.0.0.1:%(port)d
rocommunity public 127.0.0.1
master agentx
agentXSocket %(dir)s/agentx
agentXTimeout 10
agentXRetries 0
'''
SUBAGENT = '''
agentXSocket %(dir)s/agentx
pass .1.3.6.1.4.1.8072.9999.7 %(dir)s/raidstate
'''
PROGRAM = '''#!/bin/sh
sleep 0.15
echo $2
echo integer
echo 1
'''


class TheCase(foreign.Foreign):
    name = 'snmpd-subagent'
    about = 'a subagent of snmpd runs a program of 150 ms for each question; three clients'
    hurts = ('', 'p50 ms', 250)
    warm_s = 2

    def setup(self):
        lab, names = self.lab, {'port': host.free_port(), 'dir': self.lab.dir}
        state = {'SNMP_PERSISTENT_DIR': lab.path('state'), 'MIBS': ''}
        os.mkdir(lab.path('state'))
        lab.write('raidstate', PROGRAM, mode=0o755)
        self.server = lab.spawn(['snmpd', '-f', '-Lo', '-C', '-c', lab.write(
            'master.conf', MASTER % names), '-p', lab.path('pid')], env=state)
        lab.wait_for(self.server, lambda: os.path.exists(lab.path('agentx')), 'socket')
        sub = lab.spawn(['snmpd', '-f', '-Lo', '-X', '-I', 'pass', '-C', '-c', lab.write(
            'sub.conf', SUBAGENT % names), '-p', lab.path('pid2')], env=state)
        self.server.port = names['port']
        self.truth_of = foreign.Named(
            'peer', 'external', what='the subagent, or the program that it runs',
            party=foreign.process(sub) + r'|raidstate|\bsleep\b')

    def load(self):
        self.talk('', 'run', 'snmpget -v2c -c public -t 20 -r 0 -On -m "" 127.0.0.1:%d '
                  '.1.3.6.1.4.1.8072.9999.7.1.$$' % self.server.port, conns=3, pause=20)
