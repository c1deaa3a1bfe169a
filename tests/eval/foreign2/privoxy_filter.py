# SPDX-License-Identifier: Apache-2.0
"""A filter of privoxy's takes time that grows with the square of a page's bold texts."""
import os

from kit import foreign, host, servers

CONF = '''
confdir %(dir)s
logdir %(dir)s
listen-address 127.0.0.1:%(port)d
actionsfile site.action
filterfile site.filter
toggle 1
debug 0
'''


class TheCase(foreign.Foreign):
    name = 'privoxy-filter'
    about = 'the regular expression of a filter searches the page again from each of 6,000 places'
    hurts = ('', 'p50 ms', 60)

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.origin = servers.nginx(lab, 'default_type text/html; try_files $uri =404;')
        with open(os.path.join(lab.dir, 'nginx/www/page'), 'w') as f:
            f.write('<b>' * 6000 + 'ok\n')
        lab.write('site.filter', 'FILTER: tidy removes bold text\ns/<b>.*?[}~]//sg\n')
        lab.write('site.action', '{ +filter{tidy} }\n/\n')
        conf = lab.write('config', CONF % {'dir': lab.dir, 'port': port})
        self.server = servers.ready(lab, lab.spawn(['privoxy', '--no-daemon', conf]), port)
        self.truth_of = foreign.Named('cpu-own', what='privoxy',
                                      party='privoxy', function='pcre|pcrs')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET http://127.0.0.1:%d/page HTTP/1.1\r\n'
                  r'Host: localhost\r\n\r\n' % self.origin.port, r'<ok\n', conns=4, fresh=True)
