# SPDX-License-Identifier: Apache-2.0
"""Two requests of starman lock two files in either order and wait for each other for ever."""
from kit import foreign, host, servers

APP = '''
use Fcntl qw(:flock);
sub {
  my $path = shift->{PATH_INFO};
  my @names = $path eq '/ab' ? ('a', 'b') : $path eq '/ba' ? ('b', 'a') : ();
  my @held;
  for (@names) {
    open(my $f, '>>', "$ENV{DATA}/$_.lock") or die;
    flock($f, LOCK_EX);
    push @held, $f;
    select(undef, undef, undef, 0.3);
  }
  [200, ['Content-Type', 'text/plain'], ["ok\\n"]];
}
'''


class TheCase(foreign.Foreign):
    name = 'starman-deadlock'
    about = 'two workers wait for each other: flock of two files in either order'
    hurts = ('ab', 'open', 1)
    truth_of = foreign.Named('deadlock', what='the files, or two workers of starman',
                             party=r'starman|[ab]\.lock')

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['starman', '--workers', 5, '--listen', '127.0.0.1:%d' % port,
             self.lab.write('app.psgi', APP)], env={'DATA': self.lab.dir}), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=2, pause=30, fresh=True)
        for name in ('ab', 'ba'):
            self.talk(name, 'tcp', self.server.port, *foreign.get('/' + name), conns=1, fresh=True)
