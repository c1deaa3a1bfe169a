# SPDX-License-Identifier: Apache-2.0
"""A handler of Express runs a program by execFileSync: the loop waits for it."""
from kit import foreign, servers

SERVER = '''
const express = require('express'), child = require('child_process');
const app = express();
app.get('/thumbnail', (request, answer) => {
  child.execFileSync(process.env.PROGRAM);
  answer.end('ok\\n');
});
app.get('/', (request, answer) => answer.end('ok\\n'));
app.listen(process.env.PORT, '127.0.0.1');
'''
PROGRAM = '#!/bin/sh\nhead -c 30000000 /dev/zero | sha512sum\n'


class TheCase(foreign.Foreign):
    name = 'express-sync'
    about = 'execFileSync of a program that computes for 100 ms, beside quick requests'
    hurts = ('', 'p50 ms', 50)
    warm_s = 1

    def setup(self):
        lab = self.lab
        program = lab.write('thumbnail', PROGRAM, mode=0o755)
        self.server = servers.node(lab, SERVER, env={
            'PROGRAM': program, 'NODE_PATH': '/usr/share/nodejs'})
        self.truth_of = foreign.Named(
            'loop-blocked', 'peer', what='node, or the program that it runs',
            party=foreign.process(self.server) + '|thumbnail|sha512sum')

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=20)
        self.talk('thumbnail', 'tcp', self.server.port, *foreign.get('/thumbnail'), conns=2,
                  pause=50)
