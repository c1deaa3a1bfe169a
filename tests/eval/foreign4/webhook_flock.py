# SPDX-License-Identifier: Apache-2.0
"""webhook runs a script under flock(1), and a backup keeps that file locked."""
import json

from kit import foreign, host, servers

SCRIPT = '''#!/bin/sh
exec 9>>%(dir)s/site.lock
flock 9
echo ok
'''
BACKUP = '''#!/bin/sh
while :; do
	flock %(dir)s/site.lock sleep 0.6
	sleep 0.2
done
'''


class TheCase(foreign.Foreign):
    name = 'webhook-flock'
    about = "each hook's script takes a lock by flock(1), which a backup keeps for 600 of 800 ms"
    hurts = ('', 'p99 ms', 400)

    def setup(self):
        lab, port, names = self.lab, host.free_port(), {'dir': self.lab.dir}
        hooks = [{'id': 'publish', 'execute-command': lab.write('publish', SCRIPT % names, 0o755),
                  'include-command-output-in-response': True}]
        backup = lab.spawn(['sh', lab.write('backup', BACKUP % names)])
        self.server = servers.ready(lab, lab.spawn(
            ['webhook', '-hooks', lab.write('hooks.json', json.dumps(hooks)), '-ip', '127.0.0.1',
             '-port', port]), port)
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', 'peer', what='the locked file, or the backup',
            party=foreign.process(backup) + r'|site\.lock')

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/hooks/publish'), conns=3, pause=10)
