# SPDX-License-Identifier: Apache-2.0
"""gdnsd runs with the policy SCHED_IDLE on a core that a job fills."""
import os

from kit import foreign, host, servers

CONF = '''
options => {
	listen => 127.0.0.1:%d
	udp_threads => 1
	tcp_threads => 1
	zones_default_ttl => 60
	run_dir = %s/run
	state_dir = %s/state
}
'''
ZONE = '''
@ SOA ns1 hostmaster ( 1 7200 1800 259200 900 )
@ NS ns1
ns1 A 192.0.2.1
www A 192.0.2.2
'''


class TheCase(foreign.Foreign):
    name = 'gdnsd-idle'
    about = 'gdnsd with the policy SCHED_IDLE on a core that a job fills'
    hurts = ('', 'p50 ms', 2)

    def setup(self):
        lab, port = self.lab, host.free_port()
        for sub in ('etc', 'etc/zones', 'run', 'state'):
            os.mkdir(lab.path(sub))
        lab.write('etc/config', CONF % (port, lab.dir, lab.dir))
        lab.write('etc/zones/x.test', ZONE)
        self.server = lab.spawn(['taskset', '-c', '0', 'chrt', '--idle', '0', 'gdnsd', '-D', '-c',
                                 lab.path('etc'), 'start'])
        self.server.port = port
        lab.wait_for(self.server, lambda: 'DNS listeners started' in self.server.text(), 'start')
        job = lab.spawn(['taskset', '-c', '0', 'stress-ng', '--cpu', '4', '--quiet'])
        self.truth_of = foreign.Named('cpu-neighbour', what='the job: stress-ng',
                                      party=foreign.process(job) + '|stress-ng')

    def load(self):
        self.talk('', 'udp', self.server.port, foreign.dns('www.x.test'), r'<^\x12\x34', conns=4,
                  pause=5, timeout=5)
