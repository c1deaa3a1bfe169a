# SPDX-License-Identifier: Apache-2.0
"""nsd may use 4 % of a core by its cgroup's quota."""
from kit import foreign, host

CONF = '''
server:
  ip-address: 127.0.0.1@%(port)d
  server-count: 1
  username: root
  chroot: ""
  database: ""
  zonesdir: "%(dir)s"
  pidfile: "%(dir)s/pid"
  xfrdfile: "%(dir)s/xfrd"
  zonelistfile: "%(dir)s/zones"
  logfile: "%(dir)s/log"
  rrl-ratelimit: 0
remote-control:
  control-enable: no
zone:
  name: "x.test"
  zonefile: zone
'''
ZONE = '''$TTL 60
$ORIGIN x.test.
@ IN SOA ns h 1 60 60 60 60
@ IN NS ns
@ IN A 192.0.2.1
ns IN A 192.0.2.2
'''


class TheCase(foreign.Foreign):
    name = 'nsd-quota'
    about = 'nsd under a CPU quota of 4 %'
    hurts = ('', 'p99 ms', 50)

    def setup(self):
        port = host.free_port()
        self.lab.write('zone', ZONE)
        conf = self.lab.write('nsd.conf', CONF % {'port': port, 'dir': self.lab.dir})
        group = self.lab.cgroup('cpu', cpu_quota=1.0)
        self.server = self.lab.spawn(['nsd', '-d', '-c', conf], cgroup=group)
        self.server.port = port
        self.lab.wait_port(self.server, port)
        group.limit(cpu_quota=0.04)
        self.truth_of = foreign.Named('cpu-quota', what="the quota's cgroup", party=group.name)

    def load(self):
        self.talk('', 'udp', self.server.port, foreign.dns('x.test'), '<.', conns=8, timeout=5)
