# SPDX-License-Identifier: Apache-2.0
"""mini-httpd forks a process for each connection; some 50 a second ask for a file."""
import os

from kit import foreign, host, servers


class TheCase(foreign.Healthy):
    name = 'sound-mini-httpd'
    about = 'mini-httpd: a process for each of some 50 connections a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        os.mkdir(lab.path('www'))
        lab.write('www/index.html', 'ok\n')
        self.server = servers.ready(lab, lab.spawn(
            ['mini_httpd', '-D', '-h', '127.0.0.1', '-p', port, '-d', lab.path('www'),
             '-u', 'nobody']), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET /index.html HTTP/1.0\r\n'
                  r'Host: localhost\r\n\r\n', r'<ok\n', conns=2, pause=40, fresh=True)
