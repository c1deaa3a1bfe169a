# SPDX-License-Identifier: Apache-2.0
"""gearmand has one worker that sleeps 60 ms over each job; six clients."""
from kit import foreign, gearman


class TheCase(foreign.Foreign):
    name = 'gearman-worker'
    about = 'gearmand with one worker, 60 ms a job, six clients'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        self.server = gearman.server(self.lab)
        worker = gearman.worker(self.lab, self.server.port, 60)
        self.truth_of = foreign.Named('peer', 'external', 'workers', what='the worker process',
                                      party=foreign.process(worker))

    def load(self):
        self.talk('', 'tcp', self.server.port, *gearman.JOB, conns=6)
