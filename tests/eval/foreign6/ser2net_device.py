# SPDX-License-Identifier: Apache-2.0
"""ser2net connects a client with a device at a serial line, which answers slowly."""
import os

from kit import foreign, host, servers

CONF = '''%%YAML 1.1
---
connection: &meter
  accepter: tcp,127.0.0.1,%d
  connector: serialdev,%s,9600n81,local
  options:
    kickolduser: false
'''
DEVICE = '''
import os, pty, sys, time, tty
master, slave = pty.openpty()
tty.setraw(slave)
os.symlink(os.ttyname(slave), sys.argv[1])
while True:
    data = os.read(master, 100)
    time.sleep(0.15)
    os.write(master, b'230 V\\r\\n')
'''


class TheCase(foreign.Foreign):
    name = 'ser2net-device'
    about = 'a device at a serial line answers each question after 150 ms'
    hurts = ('', 'p50 ms', 130)
    warm_s = 1

    def setup(self):
        lab, port = self.lab, host.free_port()
        line = lab.path('ttyS9')
        device = lab.spawn([servers.PYTHON, lab.write('device.py', DEVICE), line])
        lab.wait_for(device, lambda: os.path.exists(line), 'line')
        self.server = servers.ready(lab, lab.spawn(
            ['ser2net', '-n', '-u', '-c', lab.write('ser2net.yaml', CONF % (port, line))]), port)
        self.truth_of = foreign.Named(
            'peer', 'external', what='the device at the line',
            party=foreign.process(device) + r'|/dev/pts/\d+|ttyS9|\bpts\b')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>READ\r\n', r'<230 V\r\n', conns=1, pause=10)
