# SPDX-License-Identifier: Apache-2.0
"""Two workers of gearmand are quick and mostly wait for jobs."""
from kit import foreign, gearman


class TheCase(foreign.Healthy):
    name = 'sound-gearman'
    about = 'gearmand with two quick workers, some 60 jobs a second'

    def setup(self):
        self.server = gearman.server(self.lab)
        for _ in range(2):
            gearman.worker(self.lab, self.server.port, 0)

    def load(self):
        self.talk('', 'tcp', self.server.port, *gearman.JOB, conns=2, pause=30)
