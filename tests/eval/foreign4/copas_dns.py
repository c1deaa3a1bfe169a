# SPDX-License-Identifier: Apache-2.0
"""A server of Copas looks names up by the C library, which blocks its only thread."""
from kit import foreign, host, more_servers, servers

SERVER = '''
local copas, socket = require 'copas', require 'socket'
local n = 0

local function handle(sock)
  while true do
    local line = copas.receive(sock, '*l')
    if not line then return end
    if line == 'hook' then
      n = n + 1
      socket.dns.toip('shop' .. n .. '.x.test')
    end
    copas.send(sock, 'ok\\n')
  end
end

copas.addserver(assert(socket.bind('127.0.0.1', tonumber(arg[1]))), handle)
copas.loop()
'''
LATE = '''
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 53))
while True:
    data, who = s.recvfrom(500)
    time.sleep(0.1)
    s.sendto(data[:2] + b'\\x81\\x83' + data[4:], who)	# no such name
'''


class TheCase(foreign.Foreign):
    name = 'copas-dns'
    about = 'one request in some looks a name up, which takes 100 ms or 200 and blocks the loop'
    hurts = ('', 'p50 ms', 60)
    warm_s = 1

    def setup(self):
        lab, port = self.lab, host.free_port()
        far = more_servers.RemoteHost(lab, 96)
        late = lab.spawn(['ip', 'netns', 'exec', far.name, servers.PYTHON, '-c', LATE,
                          far.address])
        resolv = lab.write('resolv.conf', 'nameserver %s\n' % far.address)
        switch = lab.write('nsswitch.conf', 'passwd: files\ngroup: files\nhosts: dns\n')
        self.server = servers.ready(lab, lab.spawn(
            ['unshare', '-m', 'sh', '-c', 'mount --bind %s $(readlink -f /etc/resolv.conf) && '
             'mount --bind %s /etc/nsswitch.conf && exec lua5.1 %s %d'
             % (resolv, switch, lab.write('server.lua', SERVER), port)]), port)
        self.truth_of = foreign.Named(
            'external', 'peer', what="the name server's address",
            party=foreign.process(late) + '|' + foreign.address(53, far.address))

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>page\n', r'<ok\n', conns=4, pause=20)
        self.talk('hook', 'tcp', self.server.port, r'>hook\n', r'<ok\n', conns=2, pause=50)
