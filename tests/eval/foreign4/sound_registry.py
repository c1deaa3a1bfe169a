# SPDX-License-Identifier: Apache-2.0
"""docker-registry: clients ask some 80 times a second whether it is there and what it has."""
from kit import foreign, host, servers

CONF = '''
version: 0.1
log:
  level: error
  accesslog:
    disabled: true
storage:
  filesystem:
    rootdirectory: %(dir)s/registry
http:
  addr: 127.0.0.1:%(port)d
  secret: key
'''


class TheCase(foreign.Healthy):
    name = 'sound-registry'
    about = 'docker-registry: some 80 requests a second, four connections'

    def setup(self):
        lab, port = self.lab, host.free_port()
        lab.write('registry/docker/registry/v2/repositories/shop/_layers/keep', '')
        conf = lab.write('registry.yml', CONF % {'dir': lab.dir, 'port': port})
        self.server = servers.ready(lab, lab.spawn(['docker-registry', 'serve', conf]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/v2/')[:1], r'<\{\}', conns=3,
                  pause=40)
        self.talk('list', 'tcp', self.server.port, *foreign.get('/v2/_catalog')[:1],
                  '<"repositories"', conns=1, pause=100)
