# SPDX-License-Identifier: Apache-2.0
"""icecast passes a stream of 16 kB a second to four listeners, who wait for it."""
import base64

from kit import foreign, host, servers

CONF = '''<icecast><limits><clients>50</clients><sources>2</sources></limits>
<authentication><source-password>x</source-password><admin-password>x</admin-password>
</authentication><hostname>localhost</hostname>
<listen-socket><port>%(port)d</port><bind-address>127.0.0.1</bind-address></listen-socket>
<paths><basedir>%(dir)s</basedir><logdir>%(dir)s</logdir><webroot>%(dir)s</webroot>
<adminroot>%(dir)s</adminroot></paths><security><chroot>0</chroot>
<changeowner><user>nobody</user><group>nogroup</group></changeowner></security></icecast>
'''
SOURCE = '''
import socket, sys, time
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
s.sendall(b'SOURCE /s HTTP/1.0\\r\\nAuthorization: Basic ' + sys.argv[2].encode() +
          b'\\r\\nContent-Type: audio/mpeg\\r\\n\\r\\n')
print(s.recv(200))
while True:
    s.sendall(b'x' * 1600)
    time.sleep(0.1)
'''


class TheCase(foreign.Healthy):
    name = 'sound-icecast'
    about = 'icecast: four listeners of one stream, and clients that ask for its state'

    def setup(self):
        port = host.free_port()
        conf = self.lab.write('icecast.xml', CONF % {'dir': self.lab.dir, 'port': port})
        self.lab.call(['chown', 'nobody', self.lab.dir])
        self.server = servers.ready(self.lab, self.lab.spawn(['icecast2', '-c', conf]), port)
        self.lab.spawn([servers.PYTHON, self.lab.write('source.py', SOURCE), port,
                        base64.b64encode(b'source:x').decode()])

    def load(self):
        self.listeners = foreign.Talk(
            self.lab, 'tcp', self.server.port, '<x' + 'x' * 99, conns=4,
            opening=(r'>GET /s HTTP/1.0\r\n\r\n', r'<200 OK'))
        self.talk('', 'tcp', self.server.port, r'>GET /none HTTP/1.0\r\n\r\n', r'<404', conns=2,
                  pause=40, fresh=True)
