# SPDX-License-Identifier: Apache-2.0
"""saslauthd asks a mail server for each password, and that takes its time."""
from kit import foreign, host, servers

MAIL = '''
import socketserver, sys, time

class Session(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b'* OK hello\\r\\n')
        for line in self.rfile:
            tag = line.split()[0]
            if b'LOGIN' in line.upper():
                time.sleep(0.18)
            self.wfile.write(tag + b' OK done\\r\\n')

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, request_queue_size, daemon_threads = True, 64, True

Server(('127.0.0.1', int(sys.argv[1])), Session).serve_forever()
'''


class TheCase(foreign.Foreign):
    name = 'saslauthd-imap'
    about = 'saslauthd -a rimap: a mail server answers each LOGIN after 180 ms; three clients'
    hurts = ('', 'p50 ms', 150)

    def setup(self):
        lab, behind = self.lab, host.free_port()
        mail = servers.ready(lab, lab.spawn([servers.PYTHON, '-c', MAIL, behind]), behind)
        self.server = lab.spawn(['saslauthd', '-d', '-a', 'rimap', '-O', '127.0.0.1/%d' % behind,
                                 '-n', 5, '-m', lab.dir])
        self.ask = foreign.shell(['testsaslauthd', '-u', 'a', '-p', 'b', '-f', lab.path('mux')])
        lab.wait_for(self.server, lambda: self.answers(), 'answer')
        self.truth_of = foreign.Named(
            'peer', 'external', what='the mail server',
            party=foreign.process(mail) + '|' + foreign.address(behind))

    def answers(self):
        try:
            return 'OK' in self.lab.call(['sh', '-c', self.ask])
        except foreign.LabError:
            return False

    def load(self):
        self.talk('', 'run', self.ask, conns=3, pause=10)
