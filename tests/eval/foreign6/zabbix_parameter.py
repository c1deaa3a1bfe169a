# SPDX-License-Identifier: Apache-2.0
"""The Zabbix agent runs a script for an item, and it has few processes to run it in."""
import os

from kit import foreign, host, servers

CONF = '''
Server=127.0.0.1
ListenIP=127.0.0.1
ListenPort=%(port)d
StartAgents=2
AllowRoot=1
LogFile=%(dir)s/log
PidFile=%(dir)s/pid
Timeout=10
UserParameter=queue.length,%(dir)s/queue
'''
SCRIPT = '''#!/bin/sh
# the queue's length
sleep 0.2
echo 7
'''


def low_port():
    """The agent refuses ports above 32767."""
    return next(p for p in range(21000 + os.getpid() % 9000, 32767) if not host.port_open(p))


def message(key):
    return r'>ZBXD\x01' + r'\x%02x' % len(key) + r'\x00' * 7 + key


class TheCase(foreign.Foreign):
    name = 'zabbix-parameter'
    about = "the script of an item takes 200 ms, and the agent has two processes; five clients"
    hurts = ('', 'p50 ms', 300)

    def setup(self):
        lab, port = self.lab, low_port()
        lab.write('queue', SCRIPT, 0o755)
        self.server = servers.ready(lab, lab.spawn(
            ['zabbix_agentd', '-f', '-c',
             lab.write('agent.conf', CONF % {'port': port, 'dir': lab.dir})]), port)
        self.truth_of = foreign.Named(
            'peer', 'external', 'workers', 'conn-limit', what='the script, or the two processes',
            party=r'queue|\bsleep\b|zabbix')

    def load(self):
        self.talk('', 'tcp', self.server.port, message('queue.length'), r'<7', conns=5,
                  fresh=True)
