# SPDX-License-Identifier: Apache-2.0
"""A client of an X server grabs the server while it does something else."""
import os

from kit import foreign, servers

GRABS = '''
import sys, time
from Xlib import display
d = display.Display(sys.argv[1])
while True:
    d.grab_server()
    d.sync()
    time.sleep(0.3)
    d.ungrab_server()
    d.sync()
    time.sleep(0.2)
'''
ASKS = '''
import signal, sys, threading, time
from Xlib import display

def ask(log):
    d = display.Display(sys.argv[1])
    while True:
        begun = time.monotonic()
        d.sync()
        log.write('%.6f %d\\n' % (time.monotonic(), (time.monotonic() - begun) * 1e6))
        time.sleep(0.02)

with open(sys.argv[2], 'w', buffering=1) as log:
    for _ in range(3):
        threading.Thread(target=ask, args=(log,), daemon=True).start()
    signal.sigwait([signal.SIGINT])
'''


class Asks(foreign.Talk):
    """Talk's log, written by a client of its own."""

    def __init__(self, lab, argv):
        self.log = argv[-1]
        self.proc = lab.spawn(argv, stop=foreign.signal.SIGINT, nice=-15)


class TheCase(foreign.Foreign):
    name = 'xvfb-grab'
    about = 'a client grabs the X server for 300 of 500 ms; three others ask'
    hurts = ('', 'p99 ms', 200)

    def setup(self):
        lab = self.lab
        self.screen = ':%d' % (1000 + os.getpid() % 5000)
        path = '/tmp/.X11-unix/X' + self.screen[1:]
        self.server = lab.spawn(['Xvfb', self.screen, '-screen', '0', '64x64x24', '-nolisten', 'tcp'])
        lab.wait_for(self.server, lambda: os.path.exists(path), 'socket')

    def load(self):
        lab = self.lab
        grabs = lab.spawn([servers.PYTHON, lab.write('grabs.py', GRABS), self.screen])
        self.loads[''] = Asks(lab, [servers.PYTHON, lab.write('asks.py', ASKS), self.screen,
                                    lab.path('asks.txt')])
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', 'clients', 'peer', 'loop-blocked',
            what='the client that grabs the server', party=foreign.process(grabs))
