# SPDX-License-Identifier: Apache-2.0
"""PowerDNS asks its backend, a coprocess, which takes 40 ms for each question."""
from kit import foreign, host

BACKEND = '''#!/usr/bin/python3
import sys, time
sys.stdin.readline()
print('OK\\tready', flush=True)
for line in sys.stdin:
    words = line.rstrip().split('\\t')
    if words[0] == 'Q' and words[3] in ('SOA', 'ANY', 'A'):
        time.sleep(0.04)
        if words[3] != 'A':
            print('DATA\\t%s\\tIN\\tSOA\\t60\\t1\\tns.x.test h.x.test 1 60 60 60 60' % words[1])
        if words[3] != 'SOA':
            print('DATA\\t%s\\tIN\\tA\\t60\\t1\\t192.0.2.1' % words[1])
    print('END', flush=True)
'''


class TheCase(foreign.Foreign):
    name = 'pdns-pipe'
    about = 'PowerDNS whose pipe backend, a script, takes 40 ms a question'
    hurts = ('', 'p50 ms', 40)
    truth_of = foreign.Named('peer', 'external', what='the backend script',
                             party=r'backend|python')

    def setup(self):
        script = self.lab.write('backend.py', BACKEND, mode=0o755)
        port = host.free_port()
        self.server = self.lab.spawn([
            'pdns_server', '--config-dir=' + self.lab.dir, '--launch=pipe', '--guardian=no',
            '--daemon=no', '--pipe-command=' + script, '--local-address=127.0.0.1',
            '--local-port=%d' % port, '--cache-ttl=0', '--query-cache-ttl=0',
            '--negquery-cache-ttl=0', '--distributor-threads=2', '--socket-dir=' + self.lab.dir,
            '--zone-cache-refresh-interval=0'])
        self.server.port = port
        self.lab.wait_port(self.server, port)

    def load(self):
        self.talk('', 'udp', self.server.port, foreign.dns('x.test'), '<.', conns=4, pause=10,
                  timeout=5)
