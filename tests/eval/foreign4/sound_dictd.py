# SPDX-License-Identifier: Apache-2.0
"""dictd makes a process for each connection; some 40 a second look a word up."""
from kit import foreign, host, servers

CONF = '''
database words {
  data "%(dir)s/words.dict"
  index "%(dir)s/words.index"
}
'''
DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'


def number(value):
    text = ''
    while True:
        value, low = divmod(value, 64)
        text = DIGITS[low] + text
        if not value:
            return text


class TheCase(foreign.Healthy):
    name = 'sound-dictd'
    about = 'dictd: a process for each of some 40 connections a second'

    def setup(self):
        lab, port = self.lab, host.free_port()
        data, index = '', []
        for i in range(5000):
            text = 'word%05d\n  means %d\n' % (i, i)
            index.append('word%05d\t%s\t%s\n' % (i, number(len(data)), number(len(text))))
            data += text
        lab.write('words.dict', data)
        lab.write('words.index', ''.join(sorted(index)))
        conf = lab.write('dictd.conf', CONF % {'dir': lab.dir})
        self.server = servers.ready(lab, lab.spawn(
            ['dictd', '-d', 'nodetach', '-c', conf, '-p', port, '--listen-to', '127.0.0.1',
             '--pid-file', lab.path('pid')]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>DEFINE words word00777\r\nQUIT\r\n',
                  '<\n221 ', conns=2, pause=40, fresh=True)
