# SPDX-License-Identifier: Apache-2.0
"""MariaDB's thread pool has two threads, and queries that take 200 ms; eight clients."""
from kit import foreign, servers

LOGIN = (r'<native_password',
         r'>\x41\x00\x00\x01\x09\x82\x08\x00\x00\x00\x00\x01\x21' + r'\x00' * 23 +
         r'sb\x00\x00sbtest\x00mysql_native_password\x00', r'<\x00\x00\x02\x00')


class TheCase(foreign.Foreign):
    name = 'maria-pool'
    about = 'thread_handling=pool-of-threads with two threads, queries of 200 ms, eight clients'
    hurts = ('', 'p50 ms', 400)
    truth_of = foreign.Named('workers', 'timer', what='mariadbd and its pool of two',
                             party=r'mariadbd')

    def setup(self):
        self.server = servers.mariadb(
            self.lab, '--thread-handling=pool-of-threads', '--thread-pool-size=1',
            '--thread-pool-max-threads=2', '--thread-pool-stall-limit=60000',
            '--thread-pool-idle-timeout=600')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>\x12\x00\x00\x00\x03select sleep(0.2)',
                  r'<\xfe\x00\x00.\x00.*\xfe\x00\x00.\x00$',
                  opening=LOGIN, conns=8)
