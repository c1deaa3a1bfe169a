# SPDX-License-Identifier: Apache-2.0
"""ActiveMQ: five subscribers wait for a few messages, others send to queues nobody reads."""
from kit import activemq, foreign


class TheCase(foreign.Healthy):
    name = 'sound-activemq'
    about = 'ActiveMQ: subscribers who wait for news, and some 40 messages a second with receipts'
    warm_s = 4

    def setup(self):
        self.server = activemq.server(self.lab)

    def load(self):
        self.talk('', 'tcp', self.server.port, *activemq.send('a'), opening=activemq.HELLO,
                  conns=2, pause=50)
        self.talk('wait', 'tcp', self.server.port, r'<MESSAGE.*\x00', conns=5, opening=(
            *activemq.HELLO, r'>SUBSCRIBE\nid:1\ndestination:/topic/news\n\n\x00'))
        self.talk('news', 'tcp', self.server.port, r'>SEND\ndestination:/topic/news\n'
                  r'receipt:1\n\nhello\x00', r'<RECEIPT.*\x00', opening=activemq.HELLO, conns=1,
                  pause=700)

    def odd(self, seen):
        return super().odd({name: one for name, one in seen.items() if name != 'wait'})
