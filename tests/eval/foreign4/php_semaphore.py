# SPDX-License-Identifier: Apache-2.0
"""Workers of php -S take a semaphore of System V, which one kind of request keeps for 250 ms."""
from kit import foreign, host, servers

ROUTER = '''<?php
$sem = sem_get((int)getenv('PORT'), 1);
sem_acquire($sem);
if ($_SERVER['REQUEST_URI'] === '/rebuild')
    usleep(250000);
sem_release($sem);
header('Content-Length: 3');
echo "ok\\n";
'''


class TheCase(foreign.Foreign):
    name = 'php-semaphore'
    about = 'five workers of php -S share a semaphore, which a request keeps for 250 of 350 ms'
    hurts = ('', 'p99 ms', 200)

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            ['php', '-S', '127.0.0.1:%d' % port, lab.write('router.php', ROUTER)],
            env={'PHP_CLI_SERVER_WORKERS': '5', 'PORT': str(port)}), port)
        self.truth_of = foreign.Named('lock-held', 'lock-convoy', what='a worker of php, or the '
                                      'semaphore', party=r'\bphp|sem')

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=3, pause=10, fresh=True)
        self.talk('rebuild', 'tcp', self.server.port, *foreign.get('/rebuild'), conns=1, pause=100,
                  fresh=True)
