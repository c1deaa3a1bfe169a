# SPDX-License-Identifier: Apache-2.0
"""ejabberd asks one program, by a pipe, whether a password is right; it takes 90 ms."""
import base64
import os

from kit import foreign, host

CONF = '''
hosts:
  - x.test
loglevel: error
auth_method: external
extauth_program: "%(dir)s/directory"
extauth_pool_size: 1
auth_use_cache: false
listen:
  -
    port: %(port)d
    ip: "127.0.0.1"
    module: ejabberd_c2s
    access: c2s
    shaper: none
access_rules:
  c2s:
    allow: all
modules: {}
'''
PROGRAM = '''#!/usr/bin/python3
import sys, time
while True:
    size = sys.stdin.buffer.read(2)
    if len(size) < 2:
        break
    sys.stdin.buffer.read(int.from_bytes(size, 'big'))
    time.sleep(0.09)	# as the directory does
    sys.stdout.buffer.write(b'\\0\\2\\0\\1')
    sys.stdout.buffer.flush()
'''
HELLO = ("><stream:stream to='x.test' xmlns='jabber:client' version='1.0' "
         "xmlns:stream='http://etherx.jabber.org/streams'>", '<</stream:features>')
AUTH = ("><auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>%s</auth>"
        % base64.b64encode(b'\0joe\0secret').decode(), '<<success')
CODE = '/usr/lib/x86_64-linux-gnu'


class TheCase(foreign.Foreign):
    name = 'ejabberd-extauth'
    about = 'a program asked by a pipe checks each password in 90 ms, one at a time; five clients'
    hurts = ('', 'p50 ms', 250)
    warm_s = 2

    def setup(self):
        lab, port = self.lab, host.free_port()
        lab.write('directory', PROGRAM, mode=0o755)
        conf = lab.write('ejabberd.yml', CONF % {'dir': lab.dir, 'port': port})
        os.mkdir(lab.path('spool'))
        proc = lab.spawn(
            ['erl', '-noinput', '-noshell', '-mnesia', 'dir', '"%s"' % lab.path('spool'),
             '-ejabberd', 'config', '"%s"' % conf, 'log_path', '"%s"' % lab.path('log'),
             '-s', 'ejabberd'], env={'ERL_LIBS': CODE, 'EJABBERD_CONFIG_PATH': conf,
                                     'EJABBERD_LOG_PATH': lab.path('log')})
        lab.wait_port(proc, port)
        beam = [p for p in (proc.pid, *host.descendants(proc.pid)) if 'beam' in host.comm(p)]
        proc.pid, proc.port = beam[0], port
        self.server = proc
        self.truth_of = foreign.Named('peer', 'external', what='the program', party='directory')

    def load(self):
        self.talk('', 'tcp', self.server.port, *HELLO, *AUTH, conns=5, fresh=True)
