# SPDX-License-Identifier: Apache-2.0
"""inspircd's fake lag: who asks more often than its penalty allows waits for the next tick."""
from kit import foreign, host, servers

CONF = '''
<server name="irc.test" description="test" network="test">
<admin name="a" nick="a" email="a@irc.test">
<bind address="127.0.0.1" port="%(port)d" type="clients">
<connect allow="*" timeout="60" fakelag="on" commandrate="2000" threshold="5" limit="100"
 localmax="100" globalmax="100" maxconnwarn="no" resolvehostnames="no" useident="no"
 recvq="64K" softsendq="64K" hardsendq="1M">
<performance softlimit="100" somaxconn="128">
<dns server="127.0.0.1" timeout="1">
<pid file="%(dir)s/pid">
<log method="file" type="* -USERINPUT -USEROUTPUT" level="default" target="%(dir)s/irc.log">
'''


class TheCase(foreign.Foreign):
    name = 'inspircd-lag'
    about = 'fakelag with commandrate 2000: bots that ask without a pause wait a second'
    hurts = ('', 'p50 ms', 200)
    warm_s = 3
    truth_of = foreign.Named('timer', 'conn-limit', what='inspircd', party='inspircd')

    def setup(self):
        lab, port = self.lab, host.free_port()
        conf = lab.write('inspircd.conf', CONF % {'port': port, 'dir': lab.dir})
        self.server = servers.ready(lab, lab.spawn(
            ['inspircd', '--config=' + conf, '--nofork', '--runasroot']), port)

    def load(self):
        for i in range(4):
            self.talk('b%d' % i if i else '', 'tcp', self.server.port, r'>USERHOST bot%d\r\n' % i,
                      r'< 302 ', conns=1,
                      opening=(r'>NICK bot%d\r\nUSER a 0 * :a\r\n' % i, r'< 42[26] |< 376 '))
