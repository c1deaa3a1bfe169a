# SPDX-License-Identifier: Apache-2.0
"""postgrey: three mail servers ask it some 60 times a second."""
import os

from kit import foreign, host, servers

ASK = (r'>request=smtpd_access_policy\nprotocol_state=RCPT\nsender=a@y.test\nrecipient=b@x.test\n'
       r'client_address=192.0.2.%d\nclient_name=c.y.test\nhelo_name=c.y.test\n\n',
       r'<action=[^\n]*\n\n')


class TheCase(foreign.Healthy):
    name = 'sound-postgrey'
    about = 'postgrey: three connections that are kept open, some 60 questions a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        servers.own_dir(lab, 'db', 'postgrey')
        self.server = servers.ready(lab, lab.spawn(
            ['postgrey', '--inet=127.0.0.1:%d' % port, '--dbdir=' + lab.path('db'),
             '--user=postgrey', '--group=postgrey']), port)

    def load(self):
        for i in range(3):
            self.talk('c%d' % i if i else '', 'tcp', self.server.port, ASK[0] % i, ASK[1],
                      conns=1, pause=40)
