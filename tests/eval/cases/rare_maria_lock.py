# SPDX-License-Identifier: Apache-2.0
"""Once in 3 s a session locks the table for 150 ms and sleeps; all others wait for it."""
from kit import load, servers
from kit.rare import Rare, RareCase

LOCK = 'lock tables sbtest1 write; select sleep(0.15); unlock tables; select sleep(2.85);\n'


class TheCase(RareCase):
    name = 'rare-maria-lock'
    about = 'LOCK TABLES for 150 ms every 3 s, sysbench oltp_point_select with 8 threads'
    tools = ('mariadbd', 'sysbench')
    # The lock's holder is a thread of the server; who waits is in the lock's function.
    rare = Rare('lock-held', stall_ms=150, every_s=3,
                function=r'MDL_context::acquire_lock|MDL_wait|Item_func_sleep')

    def setup(self):
        self.server = servers.mariadb(self.lab)
        self.lab.call(servers.sysbench_args(self.server.port, 'oltp_point_select',
                                            '--table-size=20000', 'prepare'))

    def load(self):
        port = self.server.port
        self.loads[''] = load.sysbench(self.lab, port, 'oltp_point_select',
                                       '--table-size=20000', '--threads=8')
        self.probe('mysql', port, 'select c from sbtest1 where id = 1')
        if self.degraded:
            script = self.lab.write('lock.sql', LOCK * 1000)
            self.lab.spawn(['mariadb', *servers.maria_args(port), 'sbtest'], stdin=open(script))

    def select(self):
        return ['-p', str(self.server.pid)]
