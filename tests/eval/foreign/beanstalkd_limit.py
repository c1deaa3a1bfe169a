# SPDX-License-Identifier: Apache-2.0
"""beanstalkd syncs its journal at each job, and its cgroup may write 30 times a second."""
import os

from kit import foreign, host, servers


class TheCase(foreign.Foreign):
    name = 'beanstalkd-limit'
    about = 'binlog with fsync at each job under a cgroup limit of 30 writes/s'
    hurts = ('', 'p50 ms', 60)

    def setup(self):
        group, port = self.lab.cgroup('blkio'), host.free_port()
        os.mkdir(self.lab.path('log'))
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['beanstalkd', '-l', '127.0.0.1', '-p', port, '-b', self.lab.path('log'), '-f', 0],
            cgroup=group), port)
        dev, disk = host.disk_of(self.lab.dir)
        group.limit(write_iops=(dev, 30))
        self.truth_of = foreign.Named('disk-limit', what='the limit of the cgroup',
                                      party='%s|%s' % (disk, group.name))

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>put 1 0 60 4\r\ndata\r\n', r'<INSERTED \d+\r\n',
                  conns=4)
