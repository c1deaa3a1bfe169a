# SPDX-License-Identifier: Apache-2.0
"""A watchdog prints the stacks of webdis by gdb every half second, which stops it meanwhile."""
import json

from kit import foreign, host, servers

WATCHDOG = '''#!/bin/sh
while :; do
	gdb -nx -batch -p $1 -ex 'thread apply all bt' >stacks 2>&1
	sleep 0.5
done
'''


class TheCase(foreign.Foreign):
    name = 'webdis-gdb'
    about = 'a script prints the stacks of all threads by gdb, which stops the server meanwhile'
    hurts = ('', 'p99 ms', 100)
    warm_s = 2

    def setup(self):
        lab, port, redis = self.lab, host.free_port(), servers.redis(self.lab)
        conf = lab.write('webdis.json', json.dumps({
            'redis_host': '127.0.0.1', 'redis_port': redis.port, 'http_host': '127.0.0.1',
            'http_port': port, 'threads': 2, 'pool_size': 4, 'daemonize': False,
            'verbosity': 1, 'logfile': lab.path('log')}))
        self.server = servers.ready(lab, lab.spawn(['webdis', conf]), port)
        lab.spawn(['sh', lab.write('watchdog', WATCHDOG), self.server.pid])
        self.truth_of = foreign.Named('stopped', what='gdb', party='gdb')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET /PING HTTP/1.1\r\nHost: localhost\r\n\r\n',
                  '<PONG', conns=4, pause=10)
