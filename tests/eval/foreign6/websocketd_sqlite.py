# SPDX-License-Identifier: Apache-2.0
"""websocketd runs a script that writes to an SQLite file, which a report keeps locked."""
import os

from kit import foreign, host, servers

SCRIPT = '''#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
sqlite3 -cmd '.timeout 20000' %s "insert into hits values (1)" >/dev/null && echo done
'''
REPORT = '''
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
while True:
    db.execute('begin exclusive')
    time.sleep(0.4)
    db.execute('rollback')
    time.sleep(0.2)
'''


class TheCase(foreign.Foreign):
    name = 'websocketd-sqlite'
    about = 'a CGI script writes to an SQLite file that a report keeps locked for 400 of 600 ms'
    hurts = ('', 'p99 ms', 300)

    def setup(self):
        lab, port = self.lab, host.free_port()
        db = lab.path('hits.db')
        lab.call(['sqlite3', db, 'create table hits (n int)'])
        os.mkdir(lab.path('cgi'))
        lab.write('cgi/hit', SCRIPT % db, 0o755)
        report = lab.spawn([servers.PYTHON, lab.write('report.py', REPORT), db])
        self.server = servers.ready(lab, lab.spawn(
            ['websocketd', '--address=127.0.0.1', '--port=%d' % port,
             '--cgidir=' + lab.path('cgi')]), port)
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', what='the SQLite file, or the report that keeps it locked',
            party=foreign.process(report) + r'|hits\.db')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET /hit HTTP/1.0\r\nHost: localhost\r\n\r\n',
                  r'<done', conns=3, pause=20, fresh=True)
