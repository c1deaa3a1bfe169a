# SPDX-License-Identifier: Apache-2.0
"""caddy serves a file and passes requests to a quick service."""
from kit import foreign, host, servers

CONF = '''
{
  admin off
  auto_https off
  storage file_system %(dir)s
}
http://:%(port)d {
  bind 127.0.0.1
  handle /file.txt {
    root * %(dir)s/www
    file_server
  }
  handle {
    reverse_proxy 127.0.0.1:%(up)d
  }
}
'''


class TheCase(foreign.Healthy):
    name = 'sound-caddy'
    about = 'caddy: files, and requests to a service that answers at once'

    def setup(self):
        up = servers.upstream(self.lab, 0)
        self.lab.write('www/file.txt', 'ok\n')
        port = host.free_port()
        conf = self.lab.write('Caddyfile', CONF % {'dir': self.lab.dir, 'port': port,
                                                   'up': up.port})
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['caddy', 'run', '--adapter', 'caddyfile', '--config', conf]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/file.txt'), conns=3, pause=20)
        self.talk('up', 'tcp', self.server.port, *foreign.GET, conns=3, pause=20)
