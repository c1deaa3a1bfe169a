# SPDX-License-Identifier: Apache-2.0
"""mpd without music: clients that wait for news, and clients that ask for its state."""
import os

from kit import foreign, host, servers

CONF = '''
bind_to_address "127.0.0.1"
port "%(port)d"
music_directory "%(dir)s/music"
playlist_directory "%(dir)s/lists"
db_file "%(dir)s/db"
state_file "%(dir)s/state"
log_file "%(dir)s/log"
audio_output {
	type "null"
	name "none"
}
'''


class TheCase(foreign.Healthy):
    name = 'sound-mpd'
    about = 'mpd: two clients who wait for news, and some 100 questions a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        for sub in ('music', 'lists'):
            os.mkdir(lab.path(sub))
        self.server = servers.ready(lab, lab.spawn(
            ['mpd', '--no-daemon', lab.write('mpd.conf', CONF % {'port': port, 'dir': lab.dir})]),
            port)

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>status\n', r'<OK\n', conns=3, pause=30,
                  opening=('<OK MPD',))
        wait = 'import socket,sys; s = socket.create_connection(("127.0.0.1", int(sys.argv[1])));' \
            's.sendall(b"idle\\n"); [None for _ in iter(lambda: s.recv(99), b"")]'
        for _ in range(2):
            self.lab.spawn([servers.PYTHON, '-c', wait, self.server.port])
