# SPDX-License-Identifier: Apache-2.0
"""Somebody runs strace on dnsmasq, which stops it for 20 ms at each answer."""
from kit import foreign, host


class TheCase(foreign.Foreign):
    name = 'dnsmasq-traced'
    about = 'strace is attached and stops the server for 20 ms at each sendmsg'
    hurts = ('', 'p50 ms', 20)
    truth_of = foreign.Named('stopped', what='strace', party='strace')

    def setup(self):
        port = host.free_port()
        self.server = self.lab.spawn([
            'dnsmasq', '-k', '-C', '/dev/null', '-R', '-h', '-p', port, '-a', '127.0.0.1',
            '--bind-interfaces', '--user=nobody', '--group=nogroup',
            '--address=/x.test/192.0.2.1', '--pid-file'])
        self.server.port = port
        self.lab.wait_port(self.server, port)

    def load(self):
        self.lab.spawn(['strace', '-o', '/dev/null', '-e', 'trace=sendmsg', '-e',
                        'inject=sendmsg:delay_enter=20000', '-p', self.server.pid])
        self.talk('', 'udp', self.server.port, foreign.dns('x.test'), '<.', conns=4, pause=5,
                  timeout=5)
