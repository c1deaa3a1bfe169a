# SPDX-License-Identifier: Apache-2.0
"""A version range with many blanks: semver 7.5.1's regular expression is quadratic."""
from kit import load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect
from kit.truth import Truth

SCRIPT = '''
const http = require('http'), fs = require('fs');
const Range = require('semver/classes/range');
http.createServer((req, res) => {
  const url = new URL(req.url, 'http://x');
  if (url.pathname === '/range') {
    try {
      res.end(new Range(url.searchParams.get('q')).range);
    } catch (e) {
      res.end('no range');
    }
  } else if (url.pathname === '/read') {
    fs.readFile(__filename, (err, data) => res.end(data));
  } else {
    res.end('plain');
  }
}).listen(+process.env.PORT, '127.0.0.1');
'''


class TheCase(Case):
    name = 'node-semver'
    about = 'new Range() of a text with 200 blanks beside plain requests'
    labels = ('functions',)
    tools = ('node', 'npm')
    expect = {
        'degraded': Expect('loop-blocked', 'cpu-own', culprit='node'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }
    truth = Truth('(new )?Range|.*parseRange')

    def setup(self):
        servers.npm(self.lab, 'semver@7.5.1')
        self.server = servers.node(self.lab, SCRIPT, names=True)

    def load(self):
        port = self.server.port
        self.loads['plain'] = load.Client(self.lab, 'http', port, 4, path='/plain',
                                          rate=0 if self.variant == 'healthy' else 100)
        self.loads['read'] = load.Client(self.lab, 'http', port, 2, rate=50, path='/read')
        blanks = '+' * 200 if self.degraded else '+'
        self.loads['range'] = load.Client(self.lab, 'http', port, 1, rate=0.7,
                                          path='/range?q=a%sa' % blanks)

    def learn_load(self):
        for path, rate in (('/plain', 60), ('/read', 80), ('/range?q=1.2.3+-+2', 40)):
            self.loads[path] = load.Client(self.lab, 'http', self.server.port, 2, rate=rate,
                                           path=path)

    def select(self):
        return ['-p', str(self.server.pid)]
