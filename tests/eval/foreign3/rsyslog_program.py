# SPDX-License-Identifier: Apache-2.0
"""rsyslogd gives each line to a program that takes 25 ms; who writes a line waits."""
import os

from kit import foreign

CONF = '''
module(load="imuxsock" SysSock.Use="off")
module(load="omprog")
input(type="imuxsock" Socket="%(dir)s/log" CreatePath="off")
main_queue(queue.type="FixedArray" queue.size="50" queue.dequeueBatchSize="8"
           queue.discardMark="0" queue.discardSeverity="8" queue.workerThreads="1")
action(type="omprog" binary="%(dir)s/alert" confirmMessages="on" confirmTimeout="10000")
'''
PROGRAM = '''#!/usr/bin/python3
import sys, time
print('OK', flush=True)
for line in sys.stdin:
    time.sleep(0.025)	# to the pager's service and back
    print('OK', flush=True)
'''


class TheCase(foreign.Foreign):
    name = 'rsyslog-program'
    about = 'omprog with confirmMessages, 25 ms a line; the queue is full, so writers wait'
    hurts = ('', 'p50 ms', 80)
    warm_s = 4
    truth_of = foreign.Named('peer', 'external', what='the program', party=r'\balert\b')

    def setup(self):
        lab = self.lab
        lab.write('alert', PROGRAM, mode=0o755)
        conf = lab.write('rsyslog.conf', CONF % {'dir': lab.dir})
        self.server = lab.spawn(['rsyslogd', '-n', '-f', conf, '-i', lab.path('pid')])
        lab.wait_for(self.server, lambda: os.path.exists(lab.path('log')), 'socket')

    def load(self):
        self.talk('', 'run', 'logger -u %s -d hello' % self.lab.path('log'), conns=6)
