# SPDX-License-Identifier: Apache-2.0
"""squid asks one helper about each address, which takes 60 ms; six clients."""
from kit import foreign, host, servers

CONF = '''
http_port 127.0.0.1:%(port)d
pid_filename none
cache_effective_user proxy
access_log none
cache_log %(dir)s/s/cache.log
coredump_dir %(dir)s/s
cache deny all
http_access allow all
shutdown_lifetime 0 seconds
url_rewrite_program %(dir)s/rewrite.py
url_rewrite_children 1 startup=1 idle=1 concurrency=0 queue-size=100
'''
HELPER = '''#!/usr/bin/python3
import sys, time
for line in sys.stdin:
    time.sleep(0.06)
    print('OK', flush=True)
'''


class TheCase(foreign.Foreign):
    name = 'squid-helper'
    about = 'url_rewrite_program with one child that takes 60 ms an address, six clients'
    hurts = ('', 'p50 ms', 250)
    truth_of = foreign.Named('peer', 'external', 'workers', what='the helper',
                             party=r'^(rewrite|python)')

    def setup(self):
        self.upstream = servers.upstream(self.lab, 0)
        servers.own_dir(self.lab, 's', 'proxy')
        self.lab.write('rewrite.py', HELPER, mode=0o755)
        port = host.free_port()
        conf = self.lab.write('squid.conf', CONF % {'dir': self.lab.dir, 'port': port})
        self.server = servers.ready(self.lab, self.lab.spawn(['squid', '-N', '-f', conf]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET http://127.0.0.1:%d/ HTTP/1.1\r\n'
                  r'Host: 127.0.0.1\r\n\r\n' % self.upstream.port, r'<ok\n', conns=6)
