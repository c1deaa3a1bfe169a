# SPDX-License-Identifier: Apache-2.0
"""A job reserves a table of firebird's for itself for 400 of 500 ms; others insert into it."""
import os

from kit import foreign, host, servers

LIBRARY = '/usr/lib/x86_64-linux-gnu/firebird/3.0'
CONF = '''
RemoteServicePort = %(port)d
RemoteBindAddress = 127.0.0.1
IpcName = heldup%(port)d
ServerMode = Super
WireCrypt = Disabled
AuthServer = Srp
AuthClient = Srp
UserManager = Srp
SecurityDatabase = %(dir)s/security.fdb
'''
MAKE = '''create database '%(dir)s/security.fdb' user 'SYSDBA';
create user SYSDBA password 'key';
commit;
create database '%(dir)s/shop.fdb' user 'SYSDBA';
create table sale (n int);
commit;
'''
ISQL = '%s -q -bail -user SYSDBA -password key 127.0.0.1/%d:%s/shop.fdb'
INSERT = 'insert into sale values (1); commit;'
HOLDER = '''while :; do
	echo 'set transaction reserving sale for protected write;'
	echo 'select count(*) from sale; shell sleep 0.4; commit; shell sleep 0.1;'
done | exec %s >/dev/null
'''


class TheCase(foreign.Foreign):
    name = 'firebird-table'
    about = 'a job reserves a table for protected write for 400 of 500 ms; others insert into it'
    hurts = ('', 'p99 ms', 300)
    warm_s = 2

    def setup(self):
        lab, port = self.lab, host.free_port()
        names = {'port': port, 'dir': lab.dir}
        lab.write('root/firebird.conf', CONF % names)
        for name in ('plugins', 'intl', 'firebird.msg', 'plugins.conf', 'databases.conf'):
            os.symlink(os.path.join(LIBRARY, name), lab.path('root', name))
        os.mkdir(lab.path('lock'))
        self.env = {'FIREBIRD': lab.path('root'), 'FIREBIRD_LOCK': lab.path('lock')}
        make = ['env', *('%s=%s' % pair for pair in self.env.items()), 'isql-fb', '-q', '-bail']
        lab.call([*make, '-user', 'SYSDBA'], stdin_text=MAKE % names)
        self.server = servers.ready(lab, lab.spawn(['firebird'], env=self.env), port)

    def load(self):
        nightly, where = self.lab.path('nightly'), (self.server.port, self.lab.dir)
        os.symlink('/usr/bin/isql-fb', nightly)
        self.lab.spawn(['sh', '-c', HOLDER % (ISQL % (nightly, *where))], env=self.env)
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', what='the table of firebird, or the job that keeps it',
            party='nightly|firebird')
        self.talk('', 'run', "echo '%s' | %s" % (INSERT, ISQL % ('isql-fb', *where)), conns=3,
                  pause=20)
