# SPDX-License-Identifier: Apache-2.0
"""Jetty's DoSFilter delays who asks more than ten times a second by 300 ms."""
import os

from kit import foreign, host, servers

HOME = '/usr/share/jetty9'
WEB = '''<?xml version="1.0"?>
<web-app xmlns="http://xmlns.jcp.org/xml/ns/javaee" version="3.1">
 <filter><filter-name>dos</filter-name>
  <filter-class>org.eclipse.jetty.servlets.DoSFilter</filter-class>
  <async-supported>true</async-supported>
  <init-param><param-name>maxRequestsPerSec</param-name><param-value>10</param-value></init-param>
  <init-param><param-name>delayMs</param-name><param-value>300</param-value></init-param>
 </filter>
 <filter-mapping><filter-name>dos</filter-name><url-pattern>/*</url-pattern></filter-mapping>
</web-app>
'''


class TheCase(foreign.Foreign):
    name = 'jetty-dos'
    about = 'DoSFilter with maxRequestsPerSec 10 and delayMs 300, four clients of one address'
    hurts = ('', 'p50 ms', 200)
    warm_s = 2

    def setup(self):
        lab, port = self.lab, host.free_port()
        os.makedirs(lab.path('base/webapps/ROOT/WEB-INF'))
        lab.write('base/webapps/ROOT/WEB-INF/web.xml', WEB)
        lab.write('base/webapps/ROOT/index.html', 'ok\n')
        self.server = servers.ready(lab, lab.spawn(
            ['java', '-jar', HOME + '/start.jar', 'jetty.home=' + HOME,
             'jetty.base=' + lab.path('base'), '--module=server,http,deploy,servlets',
             'jetty.http.host=127.0.0.1', 'jetty.http.port=%d' % port]), port)
        self.truth_of = foreign.Named('timer', 'conn-limit', what='jetty, whose filter delays',
                                      party=foreign.process(self.server), function='DoSFilter')

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/index.html'), conns=4, pause=10)
