# SPDX-License-Identifier: Apache-2.0
"""All of PostgreSQL may do 30 writes a second: a disk limit."""
from kit import host, load, servers
from kit.case import CALM, Case, Expect
from kit.truth import Truth


class TheCase(Case):
    name = 'pg-disk'
    about = 'pgbench TPC-B, cgroup limit of 30 writes/s'
    labels = ('waits', 'functions')
    tools = ('pgbench',)

    expect = {
        'degraded': Expect('disk-limit'),
        # Each commit waits for the journal on the disk, and eight clients in
        # closed loop do nothing else: fsync is where the time goes, and true.
        'healthy': Expect('healthy', 'clients', 'cpu-own', 'fsync',
                          why='closed loop: commits wait for the journal'),
        'calm': CALM,
    }

    truth = Truth('XLogFlush')

    def setup(self):
        group = self.lab.cgroup('blkio')
        self.server = servers.postgres(self.lab, cgroup=group)
        self.lab.call(['pgbench', '-h', '127.0.0.1', '-p', self.server.port, '-U', 'postgres',
                       '-i', '-q', '-s', 10, 'postgres'])
        servers.psql(self.lab, self.server.port, 'checkpoint;')
        dev, disk = host.disk_of(self.lab.dir)
        if self.degraded:
            group.limit(write_iops=(dev, 30))
            self.expect['degraded'] = Expect('disk-limit', resource='%s|%s' % (disk, group.name))

    def load(self):
        options = ['-c', 2, '-R', 40] if self.calm else ['-c', 8, '-j', 2]
        self.loads[''] = load.pgbench(self.lab, self.server.port, *options)

    def learn_load(self):
        self.loads[''] = load.pgbench(self.lab, self.server.port, '-c', 3, '-N', '-R', 300)

    def select(self):
        return ['-p', str(self.server.pid)]
