# SPDX-License-Identifier: Apache-2.0
"""Once in 3 s a request has node read a large document in its only thread."""
from kit import load, servers
from kit.rare import Rare, RareCase

SCRIPT = '''
const http = require('http');
const text = JSON.stringify(Array.from({length: 600000}, (_, i) => ({id: i, name: 'n' + i})));

function importAll() {
  return JSON.parse(text).length;
}

http.createServer((req, res) => {
  res.end(req.url === '/import' ? '' + importAll() : 'plain');
}).listen(+process.env.PORT, '127.0.0.1');
'''


class TheCase(RareCase):
    name = 'rare-node-json'
    about = 'JSON.parse for 200 ms every 3 s, wrk with 32 connections'
    tools = ('node', 'wrk')
    rare = Rare('loop-blocked', 'cpu-own', stall_ms=200, every_s=3,
                function='(?i)importAll|json')

    def setup(self):
        self.server = servers.node(self.lab, SCRIPT, names=True)

    def load(self):
        port = self.server.port
        self.loads['plain'] = load.Wrk(self.lab, port, '/', 32)
        self.probe('http', port)
        if self.degraded:
            self.loads['import'] = load.Client(self.lab, 'http', port, 1, rate=1 / 3,
                                               path='/import')

    def select(self):
        return ['-p', str(self.server.pid)]
