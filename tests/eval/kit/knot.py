# SPDX-License-Identifier: Apache-2.0
"""The name server knot with one zone; same contract as servers.py."""
from . import host

CONF = '''
server:
    listen: 127.0.0.1@%(port)d
    rundir: "%(dir)s"
    user: root
database:
    storage: "%(dir)s"
log:
  - target: stderr
    any: error
zone:
  - domain: x.test
    storage: "%(dir)s"
    file: zone
'''
ZONE = '''x.test. 60 SOA ns.x.test. h.x.test. 1 60 60 60 60
x.test. 60 NS ns.x.test.
x.test. 60 A 192.0.2.1
ns.x.test. 60 A 192.0.2.2
'''


def server(lab, cgroup=None):
    port = host.free_port()
    lab.write('zone', ZONE)
    conf = lab.write('knot.conf', CONF % {'port': port, 'dir': lab.dir})
    proc = lab.spawn(['knotd', '-c', conf], cgroup=cgroup)
    proc.port = port
    lab.wait_port(proc, port)
    return proc
