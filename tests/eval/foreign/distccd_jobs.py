# SPDX-License-Identifier: Apache-2.0
"""distccd may run one compiler at a time; four clients compile."""
from kit import foreign, host, servers

SOURCE = '''
#include <stdio.h>
#define F(n) int f##n(int *a, int b) { for (int i = 0; i < b; i++) { \\
	switch (a[i] %% 7) { case 1: a[i] += b; break; case 2: a[i] *= 3; break; \\
	default: printf("%%d", a[i]); } } return a[0]; }
%s
'''


class TheCase(foreign.Foreign):
    name = 'distccd-jobs'
    about = 'distccd --jobs 1, four clients'
    hurts = ('', 'p50 ms', 400)
    # one compiler uses one of the cores: what lacks is a second one beside it
    truth_of = foreign.Named('workers', 'conn-limit', 'peer', what='distccd, or its compiler',
                             party=r'distccd|cc1|gcc')

    def setup(self):
        port = host.free_port()
        self.lab.write('a.c', SOURCE % '\n'.join('F(%d)' % i for i in range(60)))
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['distccd', '--no-detach', '--daemon', '--jobs', 1, '--allow', '127.0.0.1', '-p', port,
             '--listen', '127.0.0.1', '--log-stderr', '--user', 'nobody', '--log-level=error',
             '--enable-tcp-insecure']), port)

    def load(self):
        for i in range(4):
            self.talk('' if not i else 'c%d' % i, 'run',
                      'export DISTCC_DIR=%s; mkdir -p $DISTCC_DIR; '
                      'DISTCC_FALLBACK=0 DISTCC_HOSTS=127.0.0.1:%d/8 '
                      'distcc gcc -O2 -c %s -o %s' % (
                          self.lab.path('d%d' % i), self.server.port, self.lab.path('a.c'),
                          self.lab.path('a%d.o' % i)), conns=1)
