# SPDX-License-Identifier: Apache-2.0
"""knot's cgroup is frozen for 200 of 500 ms, as `docker pause` does."""
import os
import signal

from kit import foreign, host, knot, servers

FREEZER = '''
import sys, time
path, words = sys.argv[1], sys.argv[2:]
def put(word):
    with open(path, 'w') as f:
        f.write(word)
try:
    while True:
        put(words[0])
        time.sleep(0.2)
        put(words[1])
        time.sleep(0.3)
finally:
    put(words[1])
'''


class TheCase(foreign.Foreign):
    name = 'knot-frozen'
    about = 'the freezer of cgroups holds the server for 200 of 500 ms'
    hurts = ('', 'p99 ms', 150)

    def setup(self):
        v2 = os.path.exists(host.CGROOT + '/cgroup.controllers')
        group = self.lab.cgroup('cpu' if v2 else 'freezer')
        self.server = knot.server(self.lab, cgroup=group)
        words = ['1', '0'] if v2 else ['FROZEN', 'THAWED']
        path = os.path.join(group.dir, 'cgroup.freeze' if v2 else 'freezer.state')
        self.freezer = [servers.PYTHON, self.lab.write('freezer.py', FREEZER), path, *words]
        self.group = group

    def load(self):
        self.talk('', 'udp', self.server.port, foreign.dns('x.test'), '<.', conns=4, pause=10,
                  timeout=5)
        freezer = self.lab.spawn(self.freezer, stop=signal.SIGINT)	# it thaws at its end
        self.truth_of = foreign.Named('stopped', what='the frozen cgroup, or who freezes it',
                                      party=foreign.process(freezer) + '|' + self.group.name)
