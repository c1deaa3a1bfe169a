# SPDX-License-Identifier: Apache-2.0
"""Net::Server::PreFork with three processes that take their time for each connection."""
from kit import foreign, host, servers

SERVER = '''
package Shop;
use base qw(Net::Server::PreFork);
sub process_request {
	my $line = <STDIN>;
	select undef, undef, undef, 0.1;	# as the supplier wants it
	print "ok\\n";
}
Shop->run(host => '127.0.0.1', port => $ARGV[0], min_servers => 3, max_servers => 3,
	min_spare_servers => 0, max_spare_servers => 2, listen => 64, log_level => 0,
	user => 'root', group => 'root', serialize => 'flock', no_client_stdout => 0);
'''


class TheCase(foreign.Foreign):
    name = 'netserver-prefork'
    about = 'Net::Server::PreFork with three processes that pause 100 ms; nine clients'
    hurts = ('', 'p50 ms', 220)

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            ['perl', lab.write('shop.pl', SERVER), port]), port)
        self.truth_of = foreign.Named(
            'workers', 'timer', 'conn-limit', what='perl and its three processes',
            party=r'perl|shop\.pl|Shop')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>hello\n', r'<ok\n', conns=9, fresh=True)
