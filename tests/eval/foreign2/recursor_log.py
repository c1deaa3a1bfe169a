# SPDX-License-Identifier: Apache-2.0
"""The recursor writes a line for each question into a pipe that is read slowly."""
import os

from kit import foreign, host, servers

CONF = '''
local-address=127.0.0.1
local-port=%(port)d
socket-dir=%(dir)s
threads=1
distributor-threads=0
pdns-distributes-queries=no
quiet=no
disable-packetcache=yes
auth-zones=x.test=%(dir)s/zone
security-poll-suffix=
loglevel=6
'''
ZONE = '''x.test. 60 IN SOA ns.x.test. h.x.test. 1 60 60 60 60
x.test. 60 IN NS ns.x.test.
x.test. 60 IN A 192.0.2.1
ns.x.test. 60 IN A 192.0.2.2
'''
READER = '''
import fcntl, os, sys, time
F_SETPIPE_SZ = 1031
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(fd, F_SETPIPE_SZ, 4096)
while os.read(fd, 100):
    time.sleep(0.01)
'''


class TheCase(foreign.Foreign):
    name = 'recursor-log'
    about = "each question's log line goes to a pipe whose reader takes 10 kB a second"
    hurts = ('', 'p50 ms', 20)
    warm_s = 2

    def setup(self):
        lab, port, pipe = self.lab, host.free_port(), self.lab.path('log.pipe')
        lab.write('zone', ZONE)
        lab.write('recursor.conf', CONF % {'port': port, 'dir': lab.dir})
        os.mkfifo(pipe)
        reader = lab.spawn([servers.PYTHON, lab.write('reader.py', READER), pipe])
        self.server = lab.spawn(['sh', '-c', 'exec pdns_recursor --config-dir=%s --daemon=no '
                                 '>%s 2>&1' % (lab.dir, pipe)])
        lab.wait_port(self.server, port)
        self.server.port = port
        self.truth_of = foreign.Named('peer', 'external', what='the reader of the log pipe',
                                      party=foreign.process(reader) + r'|log\.pipe')

    def load(self):
        self.talk('', 'udp', self.server.port, foreign.dns('x.test'), '<.', conns=6, timeout=10)
