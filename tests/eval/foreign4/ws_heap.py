# SPDX-License-Identifier: Apache-2.0
"""A chat on node-ws keeps so much that its heap is nearly full: V8 collects again and again."""
from kit import foreign, servers

SERVER = '''
const { WebSocketServer } = require('ws');
const kept = [], recent = [];
for (let i = 0; i < 520000; i++) kept.push({ id: i, text: 'message ' + i, at: [i] });
const server = new WebSocketServer({ host: '127.0.0.1', port: +process.env.PORT });
server.on('connection', socket => socket.on('message', text => {
  for (let i = 0; i < 2500; i++) recent.push({ id: i, text: String(text) + i, at: [i] });
  if (recent.length > 50000) recent.splice(0, 2500);
  socket.send('seen');
}));
'''
HELLO = (r'>GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
         r'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
         r'<\r\n\r\n')


class TheCase(foreign.Foreign):
    name = 'ws-heap'
    about = 'a heap of 100 MB that is nearly full, so that V8 marks all of it every few messages'
    hurts = ('', 'p99 ms', 15)
    warm_s = 3

    def setup(self):
        self.server = servers.node(self.lab, SERVER, env={
            'NODE_PATH': '/usr/share/nodejs', 'NODE_OPTIONS': '--max-old-space-size=100'})
        self.truth_of = foreign.Named(
            'cpu-own', 'memory', 'loop-blocked', what='node, or its collector',
            party=foreign.process(self.server), function='Mark|Scaveng|Heap::|Sweep')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>\x81\x85\x00\x00\x00\x00hello', '<seen', conns=4,
                  opening=HELLO)
