# SPDX-License-Identifier: Apache-2.0
"""Twiggy's event loop, with a handler that waits for a program by backticks."""
from kit import foreign, host, servers

APP = '''
my $app = sub {
	my $env = shift;
	`sleep 0.16; date` if $env->{PATH_INFO} eq '/report';
	return [200, ['Content-Type' => 'text/plain', 'Content-Length' => 3], ["ok\\n"]];
};
'''


class TheCase(foreign.Foreign):
    name = 'twiggy-report'
    about = 'one request in some runs a program of 160 ms by backticks in the only event loop'
    hurts = ('', 'p99 ms', 120)

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            ['twiggy', '--listen', '127.0.0.1:%d' % port, lab.write('app.psgi', APP)]), port)
        self.truth_of = foreign.Named(
            'loop-blocked', 'peer', what='twiggy, or the program that it runs',
            party=foreign.process(self.server) + r'|twiggy|\bsh\b|sleep')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET / HTTP/1.0\r\nHost: localhost\r\n\r\n',
                  r'<ok\n', conns=3, pause=10, fresh=True)
        self.talk('report', 'tcp', self.server.port,
                  r'>GET /report HTTP/1.0\r\nHost: localhost\r\n\r\n', r'<ok\n', conns=1,
                  pause=150, fresh=True)
