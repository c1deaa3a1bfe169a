# SPDX-License-Identifier: Apache-2.0
"""knot answers 300 questions a second."""
from kit import foreign, knot


class TheCase(foreign.Healthy):
    name = 'sound-knot'
    about = 'knot, some 300 questions a second'

    def setup(self):
        self.server = knot.server(self.lab)

    def load(self):
        self.talk('', 'udp', self.server.port, foreign.dns('x.test'), '<.', conns=3, pause=10,
                  timeout=5)
