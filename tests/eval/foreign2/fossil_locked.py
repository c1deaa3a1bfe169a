# SPDX-License-Identifier: Apache-2.0
"""Another program locks the SQLite file of fossil's repository for 400 of 500 ms."""
from kit import foreign, host, servers

HOLDER = '''
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
while True:
    db.execute('begin exclusive')
    time.sleep(0.4)
    db.execute('rollback')
    time.sleep(0.1)
'''


class TheCase(foreign.Foreign):
    name = 'fossil-locked'
    about = "another program locks the repository's SQLite file for 400 of 500 ms"
    hurts = ('', 'p99 ms', 300)

    def setup(self):
        lab, port = self.lab, host.free_port()
        repo = lab.path('repo.fossil')
        lab.call(['fossil', 'init', '--admin-user', 'root', repo])
        self.server = servers.ready(lab, lab.spawn(
            ['fossil', 'server', '--localhost', '--port', port, repo]), port)
        self.holder = lab.spawn([servers.PYTHON, lab.write('holder.py', HOLDER), repo])
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', what='the repository, or who keeps it locked',
            party=foreign.process(self.holder) + r'|repo\.fossil')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET /timeline HTTP/1.0\r\nHost: localhost\r\n\r\n',
                  r'</html>', conns=3, pause=20, fresh=True)
