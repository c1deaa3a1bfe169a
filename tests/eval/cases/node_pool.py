# SPDX-License-Identifier: Apache-2.0
"""libuv's four workers are busy with pbkdf2; file reads wait behind them."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth

SCRIPT = '''
const http = require('http'), fs = require('fs'), crypto = require('crypto');
http.createServer((req, res) => {
  if (req.url === '/hash')
    crypto.pbkdf2('secret', 'salt', 400000, 64, 'sha512', () => res.end('hashed'));
  else if (req.url === '/read')
    fs.readFile(__filename, (err, data) => res.end(data));
  else
    res.end('plain');
}).listen(+process.env.PORT, '127.0.0.1');
'''


class TheCase(Case):
    name = 'node-pool'
    about = 'crypto.pbkdf2 flood beside fs.readFile handlers'
    labels = ('waits', 'functions')
    tools = ('node', 'wrk')
    expect = {
        'degraded': Expect('workers', culprit='node|libuv'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    truth = Truth('(?i:.*pbkdf2.*)')

    def setup(self):
        self.server = servers.node(self.lab, SCRIPT)

    def load(self):
        port = self.server.port
        if self.degraded:
            self.loads['hash'] = load.Client(self.lab, 'http', port, 32, path='/hash')
            self.loads['plain'] = load.Client(self.lab, 'http', port, 1, rate=20, path='/plain')
            self.loads['read'] = load.Client(self.lab, 'http', port, 4, path='/read')
        elif self.calm:
            self.loads['read'] = load.Client(self.lab, 'http', port, 4, rate=100, path='/read')
        else:
            self.loads['read'] = load.Wrk(self.lab, port, '/read', 8)

    def learn_load(self):
        for path, rate in (('/hash', 1), ('/plain', 100), ('/read', 80)):
            self.loads[path] = load.Client(self.lab, 'http', self.server.port, 2, rate=rate,
                                           path=path)

    def select(self):
        return ['-p', str(self.server.pid)]
