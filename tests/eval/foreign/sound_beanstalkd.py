# SPDX-License-Identifier: Apache-2.0
"""Workers wait in beanstalkd for jobs that come now and then: nobody is held up."""
from kit import foreign, host, servers


class TheCase(foreign.Healthy):
    name = 'sound-beanstalkd'
    about = 'six workers wait in `reserve` for some jobs a second'

    def setup(self):
        port = host.free_port()
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['beanstalkd', '-l', '127.0.0.1', '-p', port]), port)

    def load(self):
        port = self.server.port
        self.talk('', 'tcp', port, r'>put 1 0 60 4\r\ndata\r\n', r'<INSERTED \d+\r\n', conns=1,
                  pause=300)
        self.waiting = foreign.Talk(self.lab, 'tcp', port, r'>reserve\r\n',
                                    r'<RESERVED \d+ 4\r\ndata\r\n', conns=6, timeout=600)
