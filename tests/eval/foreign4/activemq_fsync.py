# SPDX-License-Identifier: Apache-2.0
"""ActiveMQ writes each message to its journal with fsync, under a limit of the disk."""
from kit import activemq, foreign, host


class TheCase(foreign.Foreign):
    name = 'activemq-fsync'
    about = 'persistent messages, each with a receipt, under a cgroup limit of 25 writes/s'
    hurts = ('', 'p50 ms', 60)
    warm_s = 3

    def setup(self):
        lab = self.lab
        self.group = lab.cgroup('blkio')
        self.server = activemq.server(lab, cgroup=self.group)
        self.group.limit(write_iops=(host.disk_of(lab.dir)[0], 25))
        self.truth_of = foreign.Named('disk-limit', what='the limit of the cgroup',
                                      party='%s|%s' % (host.disk_of(lab.dir)[1],
                                                        self.group.name))

    def load(self):
        self.talk('', 'tcp', self.server.port, *activemq.send('orders'),
                  opening=activemq.HELLO, conns=3)
