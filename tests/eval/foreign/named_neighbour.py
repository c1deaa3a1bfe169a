# SPDX-License-Identifier: Apache-2.0
"""named has one thread and a low priority on a core that stress-ng fills."""
from kit import foreign, host

CONF = '''
options { directory "%(dir)s"; listen-on port %(port)d { 127.0.0.1; }; listen-on-v6 { none; };
  pid-file "%(dir)s/pid"; session-keyfile "%(dir)s/key"; recursion no; };
controls { };
zone "x.test" { type primary; file "%(dir)s/zone"; };
'''
ZONE = '''$TTL 60
@ IN SOA ns h 1 60 60 60 60
@ IN NS ns
@ IN A 192.0.2.1
ns IN A 192.0.2.2
'''


def named(lab, cpu=None, nice=0):
    port = host.free_port()
    lab.write('zone', ZONE)
    conf = lab.write('named.conf', CONF % {'dir': lab.dir, 'port': port})
    proc = lab.spawn(['named', '-g', '-n', 1, '-c', conf], cpu=cpu, nice=nice)
    lab.wait_port(proc, port)
    proc.port = port
    return proc


class TheCase(foreign.Foreign):
    name = 'named-neighbour'
    about = 'bind9 with one thread at niceness 10 on a core that stress-ng fills at -10'
    hurts = ('', 'p50 ms', 2)
    truth_of = foreign.Named('cpu-neighbour', what='stress-ng', party='stress-ng')

    def setup(self):
        self.server = named(self.lab, cpu=0, nice=10)
        self.lab.spawn(['stress-ng', '--cpu', 4, '--cpu-method', 'int64'], cpu=0, nice=-10)

    def load(self):
        self.talk('', 'udp', self.server.port, foreign.dns('x.test'), '<.', conns=8, timeout=5)
