# SPDX-License-Identifier: Apache-2.0
"""Workers of Mojolicious lock by mkdir and try again after 100 ms; an export keeps the lock."""
from kit import foreign, host, servers

SERVER = '''
use Mojolicious::Lite -signatures;

get '/' => {text => "ok\\n"};
get '/book' => sub ($c) {
    my $lock = "$ENV{LEDGER}.lock";
    select undef, undef, undef, 0.1 until mkdir $lock;
    open my $ledger, '>>', $ENV{LEDGER} or die;
    print $ledger "booked\\n";
    close $ledger;
    rmdir $lock;
    $c->render(text => "ok\\n");
};
app->log->level('fatal');
app->start;
'''
EXPORT = '''
import os, sys, time
while True:
    try:
        os.mkdir(sys.argv[1])
    except FileExistsError:
        time.sleep(0.01)
        continue
    time.sleep(0.6)
    os.rmdir(sys.argv[1])
    time.sleep(0.2)
'''


class TheCase(foreign.Foreign):
    name = 'mojo-lockdir'
    about = 'a lock by mkdir, tried each 100 ms, which an export keeps for 600 of 800 ms'
    hurts = ('', 'p99 ms', 300)

    def setup(self):
        lab, port, ledger = self.lab, host.free_port(), self.lab.path('ledger')
        self.server = servers.ready(lab, lab.spawn(
            ['perl', lab.write('shop.pl', SERVER), 'prefork', '-w', 4, '-l',
             'http://127.0.0.1:%d' % port], env={'LEDGER': ledger}), port)
        export = lab.spawn([servers.PYTHON, lab.write('export.py', EXPORT), ledger + '.lock'])
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', 'timer', what="the lock's directory, or the export",
            party=foreign.process(export) + r'|ledger\.lock')

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/book'), conns=3, pause=10,
                  fresh=True)
        self.talk('quick', 'tcp', self.server.port, *foreign.GET, conns=2, pause=20, fresh=True)
