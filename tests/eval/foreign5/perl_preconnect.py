# SPDX-License-Identifier: Apache-2.0
"""HTTP::Daemon serves one connection after the other, and somebody opens one and says nothing."""
from kit import foreign, host, servers

SERVER = '''
use HTTP::Daemon;
use HTTP::Response;
my $d = HTTP::Daemon->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], ReuseAddr => 1,
			  Listen => 64) or die;
while (my $c = $d->accept) {
	while (my $r = $c->get_request) {
		$c->send_response(HTTP::Response->new(200, 'OK', ['Connection' => 'close'], "ok\\n"));
		last;
	}
	$c->close;
}
'''
QUIET = '''
import socket, sys, time
while True:
    with socket.create_connection(('127.0.0.1', int(sys.argv[1]))):
        time.sleep(0.5)		# a monitor that only looks whether the port is open
    time.sleep(0.2)
'''


class TheCase(foreign.Foreign):
    name = 'perl-preconnect'
    about = 'a connection on which nothing is asked keeps the only process for 500 of 700 ms'
    hurts = ('', 'p99 ms', 300)

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            ['perl', lab.write('server.pl', SERVER), port]), port)

    def load(self):
        quiet = self.lab.spawn([servers.PYTHON, self.lab.write('quiet.py', QUIET),
                                self.server.port])
        self.talk('', 'tcp', self.server.port, r'>GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
                  r'<ok\n', conns=4, pause=20, fresh=True)
        self.truth_of = foreign.Named(
            'clients', 'workers', 'conn-limit', 'loop-blocked',
            what='the silent client, or the only process that reads from it',
            party='|'.join((foreign.process(quiet), foreign.process(self.server),
                            'clients of 127')))
