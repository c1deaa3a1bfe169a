# SPDX-License-Identifier: Apache-2.0
"""pgpool has two processes for clients, and sessions take 100 ms; eight clients."""
from kit import foreign, host, servers

CONF = '''
backend_clustering_mode = 'raw'
listen_addresses = '127.0.0.1'
port = %(port)d
pcp_port = %(pcp)d
unix_socket_directories = '%(dir)s'
pcp_socket_dir = '%(dir)s'
pid_file_name = '%(dir)s/pid'
backend_hostname0 = '127.0.0.1'
backend_port0 = %(pg)d
backend_flag0 = 'ALWAYS_PRIMARY'
num_init_children = 2
max_pool = 1
pool_passwd = ''
'''


class TheCase(foreign.Foreign):
    name = 'pgpool-children'
    about = 'num_init_children = 2, sessions with a query of 100 ms, eight clients'
    hurts = ('', 'p50 ms', 300)
    truth_of = foreign.Named('workers', 'conn-limit', what='pgpool', party='pgpool')

    def setup(self):
        pg = servers.postgres(self.lab)
        port = host.free_port()
        self.lab.write('pool_hba.conf', 'host all all 127.0.0.1/32 trust\n')
        conf = self.lab.write('pgpool.conf', CONF % {
            'port': port, 'pcp': host.free_port(), 'pg': pg.port, 'dir': self.lab.dir})
        self.lab.write('pcp.conf', '')
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['pgpool', '-n', '-f', conf, '-F', self.lab.path('pcp.conf'), '-a',
             self.lab.path('pool_hba.conf')]), port)

    def load(self):
        # a start packet (user and database postgres), until ready; then a query
        start = r'>\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0\0'
        self.talk('', 'tcp', self.server.port, r'>Q\0\0\0\x19select pg_sleep(0.1)\0',
                  r'<Z\0\0\0\x05', r'>X\0\0\0\x04', opening=(start, r'<Z\0\0\0\x05'),
                  conns=8, fresh=True)
