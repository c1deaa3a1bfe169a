# SPDX-License-Identifier: Apache-2.0
"""node looks names up two at a time in libuv's threads, and the name server is silent."""
from kit import foreign, host, more_servers, servers

SERVER = '''
const connect = require('connect'), dns = require('dns'), fs = require('fs');
const app = connect();
let n = 0;
app.use('/hook', (request, answer) => {
  dns.lookup('shop' + n++ + '.x.test', () => answer.end('ok\\n'));
});
app.use((request, answer) => {
  fs.readFile(process.env.PAGE, (error, data) => answer.end(data));
});
app.listen(process.env.PORT, '127.0.0.1');
'''
SILENT = '''
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 53))
while True:
    s.recv(500)
'''


class TheCase(foreign.Foreign):
    name = 'connect-lookup'
    about = 'dns.lookup, two at a time, of a name server that is silent, beside requests for a file'
    hurts = ('hook', 'p50 ms', 500)
    warm_s = 2

    def setup(self):
        lab, port = self.lab, host.free_port()
        far = more_servers.RemoteHost(lab, 93)
        lab.spawn(['ip', 'netns', 'exec', far.name, servers.PYTHON, '-c', SILENT, far.address])
        resolv = lab.write('resolv.conf', 'nameserver %s\noptions timeout:1 attempts:1\n'
                           % far.address)
        switch = lab.write('nsswitch.conf', 'passwd: files\ngroup: files\nhosts: dns\n')
        self.server = servers.ready(lab, lab.spawn(
            ['unshare', '-m', 'sh', '-c', 'mount --bind %s $(readlink -f /etc/resolv.conf) && '
             'mount --bind %s /etc/nsswitch.conf && exec node %s'
             % (resolv, switch, lab.write('server.js', SERVER))],
            env={'PORT': str(port), 'NODE_PATH': '/usr/share/nodejs',
                 'PAGE': lab.write('page.txt', 'ok\n')}), port)
        self.truth_of = foreign.Named(
            'external', 'peer', 'workers', what="the name server's address, or the lookups",
            party=foreign.address(53, far.address), function='getaddrinfo|res_.*send')

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=3, pause=20)
        self.talk('hook', 'tcp', self.server.port, *foreign.get('/hook'), conns=6, pause=10)
