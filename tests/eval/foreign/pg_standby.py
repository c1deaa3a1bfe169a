# SPDX-License-Identifier: Apache-2.0
"""Commits wait until a standby has applied them, which it does 60 ms late."""
import re

from kit import foreign, host, load, servers


class TheCase(foreign.Foreign):
    name = 'pg-standby'
    about = 'synchronous_commit = remote_apply, recovery_min_apply_delay = 60 ms'
    hurts = ('', 'lat ms', 60)

    def setup(self):
        lab = self.lab
        self.server = servers.postgres(lab, '-c', 'synchronous_commit=remote_apply')
        self.standby = self.start_standby()
        lab.call(['pgbench', '-h', '127.0.0.1', '-p', self.server.port, '-U', 'postgres',
                  '-i', '-q', '-s', 2, 'postgres'])
        servers.psql(lab, self.server.port,
                     "alter system set synchronous_standby_names = '*'; "
                     'select pg_reload_conf();')
        pids = [self.standby.pid, *host.descendants(self.standby.pid)]
        self.truth_of = foreign.Named(
            'peer', 'external', 'timer', what='a process of the standby, or its address',
            party='|'.join(r'/%d/|\b%d\b' % (p, p) for p in pids))

    def start_standby(self):
        lab, port = self.lab, host.free_port()
        data = servers.own_dir(lab, 'standby', 'postgres')
        lab.call([servers.PG_BIN + '/pg_basebackup', '-h', '127.0.0.1', '-p', self.server.port,
                  '-U', 'postgres', '-D', data, '-R', '-c', 'fast'], user='postgres')
        proc = lab.spawn([servers.PG_BIN + '/postgres', '-D', data, '-p', port, '-h', '127.0.0.1',
                          '-c', 'unix_socket_directories=', '-c', 'recovery_min_apply_delay=60ms'],
                         user='postgres')
        lab.wait_for(proc, lambda: servers.pg_ready(lab, port), 'answer')
        lab.wait_for(proc, lambda: re.search('streaming', servers.psql(
            lab, self.server.port, 'select state from pg_stat_replication;')), 'stream')
        return proc

    def load(self):
        self.loads[''] = load.pgbench(self.lab, self.server.port, '-c', 4, '-N')
