# SPDX-License-Identifier: Apache-2.0
"""git daemon runs an access hook for each connection, and the hook asks slowly."""
from kit import foreign, host, servers

HOOK = '''#!/bin/sh
# who may read
sleep 0.25
exit 0
'''
ASK = r'git-upload-pack /shop.git\x00host=localhost\x00'


class TheCase(foreign.Foreign):
    name = 'gitdaemon-hook'
    about = 'an access hook, a shell script, takes 250 ms for each connection; three clients'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        lab, port = self.lab, host.free_port()
        lab.call(['git', 'init', '-q', '--bare', lab.path('shop.git')])
        lab.write('mayread', HOOK, mode=0o755)
        self.server = servers.ready(lab, lab.spawn(
            ['git', '-c', 'safe.directory=*', 'daemon', '--reuseaddr', '--export-all',
             '--base-path=' + lab.dir, '--listen=127.0.0.1', '--port=%d' % port,
             '--access-hook=' + lab.path('mayread')]), port)
        self.truth_of = foreign.Named('peer', 'external', what='the hook, or its sleep',
                                      party=r'mayread|\bsleep\b')

    def load(self):
        size = len(ASK.encode().decode('unicode_escape')) + 4
        self.talk('', 'tcp', self.server.port, '>%04x%s' % (size, ASK), '<0000', conns=3, pause=20,
                  fresh=True)
