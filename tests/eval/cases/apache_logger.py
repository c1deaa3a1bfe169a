# SPDX-License-Identifier: Apache-2.0
"""Apache writes its access log into a pipe whose reader is slow."""
from kit import load, more_servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect

LOGGER = '''#!/usr/bin/python3
import os, time
while os.read(0, 4096):
    time.sleep(%g)
'''
LINE = 'LogFormat "%%h %%t \\"%%r\\" %%>s %s" long' % ('x' * 900)


class TheCase(Case):
    name = 'apache-logger'
    about = 'the access log goes to a program that takes 20 KiB a second'
    labels = ('extra',)
    tools = ('apache2',)
    expect = {
        # The answers are out: the workers are held by the full pipe afterwards.
        'degraded': Expect('peer', resource='pipe', culprit='logger'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        logger = self.lab.write('logger', LOGGER % (0.2 if self.degraded else 0), mode=0o755)
        more = '%s\nCustomLog "|%s" long' % (LINE, logger)
        self.server = more_servers.apache(self.lab, 8, {}, more)

    def load(self):
        self.loads[''] = load.Client(self.lab, 'http', self.server.port, 8, path='/file.txt',
                                     rate=15 if self.calm else 0)

    def select(self):
        return ['-p', str(self.server.pid)]
