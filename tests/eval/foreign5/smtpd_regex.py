# SPDX-License-Identifier: Apache-2.0
"""aiosmtpd checks each command of a client with an expression that backtracks."""
from kit import foreign, host, servers

SERVER = '''
import asyncio, os, re
from aiosmtpd.smtp import SMTP

class Handler:
    async def handle_EHLO(self, server, session, envelope, name):
        session.host_name = name
        re.match('(a+)+$', 'a' * 20 + 'b')
        return '250 HELP'

async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Handler(), hostname='x'), '127.0.0.1',
                                      int(os.environ['PORT']))
    await server.serve_forever()

asyncio.run(main())
'''


class TheCase(foreign.Foreign):
    name = 'smtpd-regex'
    about = 'aiosmtpd: an expression that backtracks for some 60 ms at each EHLO; four clients'
    hurts = ('', 'p50 ms', 80)

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            [servers.PYTHON, lab.write('server.py', SERVER)], env={'PORT': str(port)}), port)
        self.truth_of = foreign.Named('cpu-own', 'loop-blocked', what='python3',
                                      party=foreign.process(self.server))

    def load(self):
        self.talk('', 'tcp', self.server.port, r'<220', r'>EHLO x\r\n', r'<250 HELP', conns=4,
                  fresh=True)
