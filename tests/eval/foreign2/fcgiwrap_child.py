# SPDX-License-Identifier: Apache-2.0
"""A CGI program leaves a child behind that has its output open: the answer has no end."""
import os

from kit import foreign, servers

PAGE = '''#!/bin/sh
%s/mailer &
printf 'Content-Type: text/plain\\r\\n\\r\\nok\\n'
'''
MAILER = '''#!/bin/sh
sleep 0.5
exit 0
'''
LOCATION = '''fastcgi_pass unix:%(dir)s/cgi.sock; fastcgi_param REQUEST_METHOD GET;
 fastcgi_param SCRIPT_FILENAME %(dir)s/page.cgi;'''


class TheCase(foreign.Foreign):
    name = 'fcgiwrap-child'
    about = 'a CGI program ends at once but leaves a child for 500 ms that has its output open'
    hurts = ('', 'p50 ms', 400)
    truth_of = foreign.Named('peer', 'external', what='the child that was left behind',
                             party=r'mailer|\bsleep\b')

    def setup(self):
        lab, sock = self.lab, self.lab.path('cgi.sock')
        lab.write('page.cgi', PAGE % lab.dir, mode=0o755)
        lab.write('mailer', MAILER, mode=0o755)
        self.server = lab.spawn(['fcgiwrap', '-c', 4, '-s', 'unix:' + sock])
        lab.wait_for(self.server, lambda: os.path.exists(sock), 'socket')
        os.chmod(sock, 0o666)
        self.front = servers.nginx(lab, LOCATION % {'dir': lab.dir})

    def load(self):
        self.talk('', 'tcp', self.front.port, foreign.GET[0], r'<ok\n\r\n0\r\n\r\n', conns=4,
                  pause=20, fresh=True)
