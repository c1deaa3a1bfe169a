# SPDX-License-Identifier: Apache-2.0
"""civetweb with two threads, which wait for a script each."""
import os

from kit import foreign, host, servers

SCRIPT = '''#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
sleep 0.13
echo ok
'''


class TheCase(foreign.Foreign):
    name = 'civetweb-cgi'
    about = 'num_threads 2, and a CGI script that takes 130 ms; six clients'
    hurts = ('', 'p50 ms', 250)

    def setup(self):
        lab, port = self.lab, host.free_port()
        os.mkdir(lab.path('www'))
        lab.write('www/page.cgi', SCRIPT, 0o755)
        self.server = servers.ready(lab, lab.spawn(
            ['civetweb', '-listening_ports', '127.0.0.1:%d' % port, '-num_threads', 2,
             '-document_root', lab.path('www')]), port)
        self.truth_of = foreign.Named(
            'workers', 'peer', 'conn-limit', what='its two threads, or the script',
            party=foreign.process(self.server) + r'|page\.cgi|\bsleep\b')

    def load(self):
        self.talk('', 'tcp', self.server.port,
                  r'>GET /page.cgi HTTP/1.0\r\nHost: localhost\r\n\r\n', r'<ok\n', conns=6,
                  fresh=True)
