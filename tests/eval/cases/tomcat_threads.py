# SPDX-License-Identifier: Apache-2.0
"""Tomcat has four connector threads, all inside a JSP that sleeps."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth

PAGES = {
    'slow.jsp': '<%@ page session="false" %><% Thread.sleep(400); %>done\n',
    'file.txt': 'hello\n',
}


class TheCase(Case):
    name = 'tomcat-threads'
    about = 'maxThreads=4, 8 clients on a JSP that sleeps 400 ms'
    labels = ('waits', 'functions')
    tools = ('java', 'wrk')
    expect = {
        'degraded': Expect('workers', culprit='exec|http|java'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    truth = Truth('_jspService')
    # The VM compiles a method when it is called the 256th time; then it has a name.
    functions_warm_s = 60

    def setup(self):
        self.server = servers.tomcat(self.lab, 4, PAGES)

    def load(self):
        port = self.server.port
        if self.degraded:
            self.loads['jsp'] = load.Wrk(self.lab, port, '/slow.jsp', 8)
        elif not self.calm:
            self.loads['closed loop'] = load.Wrk(self.lab, port, '/file.txt', 3)
        rate = 20 if self.degraded else 100
        self.loads['file'] = load.Client(self.lab, 'http', port, 1, rate=rate,
                                         path='/file.txt')

    def learn_load(self):
        for path, rate in (('/slow.jsp', 9), ('/file.txt', 100)):
            self.loads[path] = load.Client(self.lab, 'http', self.server.port, 2, rate=rate,
                                           path=path)

    def before_record(self):
        servers.jvm_names(self.lab, self.server)

    def select(self):
        return ['-p', str(self.server.pid)]
