# SPDX-License-Identifier: Apache-2.0
"""spamd asks a blocklist for each mail, but its name server does not answer."""
import os

from kit import foreign, host, servers

CONF = '''
loadplugin Mail::SpamAssassin::Plugin::Check
loadplugin Mail::SpamAssassin::Plugin::DNSEval
dns_available yes
dns_server 127.0.0.1:%d
rbl_timeout 2 1
use_bayes 0
header LISTED eval:check_rbl('list', 'list.x.test.')
tflags LISTED net
score LISTED 3
'''
SILENT = '''
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('127.0.0.1', int(sys.argv[1])))
while True:
    s.recv(500)
'''
MAIL = (r'Received: from a.x.test (a.x.test [198.51.100.7]) by b.x.test with ESMTP id 1;'
        r' Mon, 23 Nov 2026 10:00:00 +0000\r\nFrom: a@x.test\r\nTo: b@x.test\r\n'
        r'Subject: hello\r\nMessage-Id: <1@x.test>\r\n\r\nhello\r\n')


class TheCase(foreign.Foreign):
    name = 'spamd-dns'
    about = 'a rule asks a blocklist by DNS, and the name server does not answer'
    hurts = ('', 'p50 ms', 500)
    warm_s = 2

    def setup(self):
        lab, port, dns_port = self.lab, host.free_port(), host.free_port()
        silent = lab.spawn([servers.PYTHON, '-c', SILENT, dns_port])
        lab.write('rules/local.cf', CONF % dns_port)
        os.mkdir(lab.path('home'))
        self.server = servers.ready(lab, lab.spawn(
            ['spamd', '--listen=127.0.0.1:%d' % port, '-x', '--max-children=3',
             '--min-children=3', '-s', 'stderr', '-C', lab.path('rules'),
             '--siteconfigpath=' + lab.path('rules'), '-H', lab.path('home')]), port)
        self.truth_of = foreign.Named(
            'external', 'peer', what="the name server's address",
            party='|'.join((foreign.process(silent), foreign.address(dns_port))))

    def load(self):
        size = len(MAIL.encode().decode('unicode_escape'))
        self.talk('', 'tcp', self.server.port, r'>CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n%s'
                  % (size, MAIL), r'<Spam: ', conns=3, pause=20, fresh=True)
