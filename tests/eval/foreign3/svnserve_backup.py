# SPDX-License-Identifier: Apache-2.0
"""A backup freezes the repository of svnserve: commits wait for its lock."""
from kit import foreign, host, servers

ACCESS = '[general]\nanon-access = write\n'
BACKUP = '''#!/bin/sh
while :; do
	svnadmin freeze %(dir)s/repo %(dir)s/copy
	sleep 0.2
done
'''
COPY = '#!/bin/sh\ntar -C %(dir)s -cf %(dir)s/repo.tar repo\nsleep 0.6\n'


class TheCase(foreign.Foreign):
    name = 'svnserve-backup'
    about = 'svnadmin freeze for a backup keeps the write lock for 600 of 800 ms'
    hurts = ('', 'p99 ms', 400)

    def setup(self):
        lab, port, names = self.lab, host.free_port(), {'dir': self.lab.dir}
        lab.call(['svnadmin', 'create', lab.path('repo')])
        lab.write('repo/conf/svnserve.conf', ACCESS)
        lab.write('note', 'text\n')
        self.server = servers.ready(lab, lab.spawn(
            ['svnserve', '-d', '--foreground', '-r', lab.dir, '--listen-host', '127.0.0.1',
             '--listen-port', port]), port)
        lab.write('copy', COPY % names, mode=0o755)
        backup = lab.spawn(['sh', lab.write('backup', BACKUP % names)])
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', what='the lock of the repository, or who keeps it',
            party=foreign.process(backup) + r'|svnadmin|write-lock|\bcopy\b')

    def load(self):
        self.talk('', 'run', 'svnmucc -m note --non-interactive put %s/note '
                  'svn://127.0.0.1:%d/repo/note$$' % (self.lab.dir, self.server.port),
                  conns=3, pause=20)
