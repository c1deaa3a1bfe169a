# SPDX-License-Identifier: Apache-2.0
"""sniproxy passes connections on, by name, to two services that are equally slow."""
from kit import foreign, host, servers

CONF = '''
listener 127.0.0.1:%d {
	proto http
	table hosts
}
table hosts {
	a.test 127.0.0.1:%d
	b.test 127.0.0.1:%d
}
error_log {
	filename %s/error.log
}
'''


class TheCase(foreign.Foreign):
    name = 'sniproxy-two'
    about = 'sniproxy in front of two services that answer after 120 ms; two clients each'
    hurts = ('', 'p50 ms', 100)

    def setup(self):
        lab, port = self.lab, host.free_port()
        a, b = servers.upstream(lab, 120), servers.upstream(lab, 120)
        self.server = servers.ready(lab, lab.spawn(
            ['sniproxy', '-f', '-c', lab.write('sniproxy.conf', CONF % (
                port, a.port, b.port, lab.dir))]), port)
        self.truth_of = foreign.Named(
            'peer', 'external', what='one of the two services',
            party='%s|%s|:(%d|%d)' % (foreign.process(a), foreign.process(b), a.port, b.port))

    def load(self):
        for name, key in (('a.test', ''), ('b.test', 'b')):
            self.talk(key, 'tcp', self.server.port,
                      r'>GET / HTTP/1.1\r\nHost: %s\r\n\r\n' % name, r'<ok\n', conns=2, pause=5)
