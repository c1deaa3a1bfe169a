# SPDX-License-Identifier: Apache-2.0
"""Four processes of starman share a counter by flock; one request keeps it for 300 ms."""
from kit import foreign, host, servers

APP = '''
use Fcntl qw(:flock);
sub {
  my $path = shift->{PATH_INFO};
  open(my $f, '>>', $ENV{COUNTER}) or die;
  flock($f, LOCK_EX);
  select(undef, undef, undef, $path eq '/report' ? 0.3 : 0.001);
  close($f);
  [200, ['Content-Type', 'text/plain'], ["ok\\n"]];
}
'''


class TheCase(foreign.Foreign):
    name = 'starman-flock'
    about = 'workers share a file by flock, which one kind of request keeps for 300 ms'
    hurts = ('', 'p99 ms', 250)
    truth_of = foreign.Named('lock-held', 'lock-convoy', what='the file, or a worker of starman',
                             party=r'counter\.lock|starman')

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['starman', '--workers', 4, '--listen', '127.0.0.1:%d' % port,
             self.lab.write('app.psgi', APP)],
            env={'COUNTER': self.lab.path('counter.lock')}), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=3, pause=10, fresh=True)
        self.talk('report', 'tcp', self.server.port, *foreign.get('/report'), pause=50, conns=1,
                  fresh=True)
