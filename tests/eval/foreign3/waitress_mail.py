# SPDX-License-Identifier: Apache-2.0
"""A handler of Python's logging sends each error by mail, through a server that greets late."""
from kit import foreign, host, servers

SERVER = '''
import logging, logging.handlers, os
from waitress import serve

log = logging.getLogger('shop')
log.addHandler(logging.handlers.SMTPHandler(('127.0.0.1', int(os.environ['MAIL'])),
                                            'shop@x.test', ['ops@x.test'], 'shop'))

def app(environ, start):
    if environ['PATH_INFO'] == '/pay':
        log.error('the payment provider refused a card')
    start('200 OK', [('Content-Length', '3')])
    return [b'ok\\n']

serve(app, host='127.0.0.1', port=int(os.environ['PORT']), threads=4)
'''
MAIL = '''
import socketserver, sys, time

class Mail(socketserver.StreamRequestHandler):
    def handle(self):
        time.sleep(0.2)
        self.wfile.write(b'220 x.test\\r\\n')
        for line in self.rfile:
            word = line[:4].upper()
            self.wfile.write(b'354 go\\r\\n' if word == b'DATA' else b'250 ok\\r\\n')
            while word == b'DATA' and self.rfile.readline() != b'.\\r\\n':
                pass
            if word == b'DATA':
                self.wfile.write(b'250 queued\\r\\n')
            if word == b'QUIT':
                return

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

Server(('127.0.0.1', int(sys.argv[1])), Mail).serve_forever()
'''


class TheCase(foreign.Foreign):
    name = 'waitress-mail'
    about = 'logging mails each error through a server that greets after 200 ms; four threads'
    hurts = ('', 'p50 ms', 150)

    def setup(self):
        lab, port, mail_port = self.lab, host.free_port(), host.free_port()
        mail = lab.spawn([servers.PYTHON, lab.write('mail.py', MAIL), mail_port])
        lab.wait_port(mail, mail_port)
        self.server = servers.ready(lab, lab.spawn(
            [servers.PYTHON, lab.write('server.py', SERVER)],
            env={'PORT': str(port), 'MAIL': str(mail_port)}), port)
        self.truth_of = foreign.Named(
            'peer', 'external', 'lock-held', 'lock-convoy', what='the mail server',
            party='|'.join((foreign.process(mail), foreign.address(mail_port))))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=3, pause=20)
        self.talk('pay', 'tcp', self.server.port, *foreign.get('/pay'), conns=5)
