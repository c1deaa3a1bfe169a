# SPDX-License-Identifier: Apache-2.0
"""exim asks a service about each sender, which answers after 200 ms."""
from kit import foreign, host, servers

CONF = '''
exim_user = nobody
exim_group = nogroup
spool_directory = %(dir)s/spool
log_file_path = %(dir)s/spool/%%slog
primary_hostname = localhost
local_interfaces = 127.0.0.1
daemon_smtp_ports = %(port)d
host_lookup =
rfc1413_query_timeout = 0s
acl_smtp_mail = check
smtp_accept_max = 100
smtp_accept_max_nonmail = 1000000
begin acl
check:
  accept set acl_m0 = ${readsocket{inet:127.0.0.1:%(asked)d}\\
    {GET / HTTP/1.0\\r\\n\\r\\n}{5s:shutdown=no}}
begin routers
begin transports
'''


class TheCase(foreign.Foreign):
    name = 'exim-scanner'
    about = 'acl_smtp_mail asks a service by readsocket, which takes 200 ms'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        asked = servers.upstream(self.lab, 200)
        servers.own_dir(self.lab, 'spool', 'nobody')
        port = host.free_port()
        conf = self.lab.write('exim.conf', CONF % {'dir': self.lab.dir, 'port': port,
                                                   'asked': asked.port})
        self.server = servers.ready(self.lab, self.lab.spawn(['exim4', '-bdf', '-C', conf]), port)
        self.truth_of = foreign.Named(
            'peer', 'external', what='the service',
            party=foreign.process(asked) + '|' + foreign.address(asked.port))

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>MAIL FROM:<a@x.test>\r\n', r'<250 ',
                  r'>RSET\r\n', r'<250 ', opening=(r'<220 .*\n', r'>HELO x\r\n', r'<250 .*\n'),
                  conns=4, pause=10)
