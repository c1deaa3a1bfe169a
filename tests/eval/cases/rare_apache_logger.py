# SPDX-License-Identifier: Apache-2.0
"""Once in 4 s the program that takes Apache's access log pauses; the pipe fills up."""
from kit import load, more_servers
from kit.rare import Rare, RareCase

LOGGER = '''#!/usr/bin/python3
import os, time
due = time.monotonic() + 4
while os.read(0, 65536):
    if time.monotonic() >= due:
        due += 4
        time.sleep(0.4)
'''
CONF = '''KeepAlive On
MaxKeepAliveRequests 0
LogFormat "%%h %%t \\"%%r\\" %%>s %s" long
CustomLog "|%s" long'''


class TheCase(RareCase):
    name = 'rare-apache-logger'
    about = 'the reader of the access log pauses 400 ms every 4 s, wrk with 6 connections'
    tools = ('apache2', 'wrk')
    variants = ('degraded',)
    rare = Rare('peer', stall_ms=300, every_s=4, culprit='^logger/', resource='pipe')

    def setup(self):
        logger = self.lab.write('logger', LOGGER, mode=0o755)
        self.server = more_servers.apache(self.lab, 8, {}, CONF % ('x' * 300, logger))

    def load(self):
        self.loads[''] = load.Wrk(self.lab, self.server.port, '/file.txt', 6)
        self.probe('http', self.server.port, '/file.txt')

    def select(self):
        return ['-p', str(self.server.pid)]
