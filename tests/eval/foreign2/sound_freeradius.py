# SPDX-License-Identifier: Apache-2.0
"""freeradius with its pool of threads checks some 60 passwords a second."""
import hashlib
import os

from kit import foreign, host

CONF = '''
prefix = /usr
libdir = /usr/lib/freeradius
raddbdir = %(dir)s
logdir = %(dir)s
run_dir = %(dir)s
pidfile = %(dir)s/pid
cleanup_delay = 0
security { allow_core_dumps = no }
log { destination = files
 file = %(dir)s/radius.log }
thread pool { start_servers = 5
 max_servers = 32
 min_spare_servers = 3
 max_spare_servers = 10 }
modules {
 pap {
 }
}
client local { ipaddr = 127.0.0.1
 secret = %(secret)s }
server default {
 listen { type = auth
  ipaddr = 127.0.0.1
  port = %(port)d }
 authorize {
  update control {
   Cleartext-Password := "x"
  }
  pap
 }
 authenticate {
  pap
 }
}
'''
SECRET = 'testing'


def octets(data):
    return ''.join(r'\x%02x' % b for b in data)


def access_request(user, password):
    """A step: Access-Request of RADIUS with a password hidden as PAP says."""
    nonce = bytes(range(16))
    key = hashlib.md5(SECRET.encode() + nonce).digest()
    hidden = bytes(a ^ b for a, b in zip(password.ljust(16, b'\0'), key))
    body = b'\x01' + bytes([2 + len(user)]) + user + b'\x02\x12' + hidden
    return '>' + octets(b'\x01\x07' + (20 + len(body)).to_bytes(2, 'big') + nonce + body)


class TheCase(foreign.Healthy):
    name = 'sound-freeradius'
    about = 'freeradius with idle threads, some 60 passwords a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        lab.write('dictionary', '$INCLUDE /usr/share/freeradius/dictionary\n')
        lab.write('radiusd.conf', CONF % {'dir': lab.dir, 'port': port, 'secret': SECRET})
        self.server = lab.spawn(['freeradius', '-f', '-d', lab.dir, '-n', 'radiusd'])
        self.server.port = port
        log = lab.path('radius.log')
        lab.wait_for(self.server, lambda: os.path.exists(log) and 'Ready to process' in
                     open(log).read(), 'answer')

    def load(self):
        self.talk('', 'udp', self.server.port, access_request(b'bob', b'x'), r'<^\x02', conns=2,
                  pause=30, fresh=True, timeout=5)
