# SPDX-License-Identifier: Apache-2.0
"""influxdb answers queries of two clients."""
from kit import foreign, host, servers

CONF = '''
bind-address = "127.0.0.1:%(rpc)d"
reporting-disabled = true
[meta]
  dir = "%(dir)s/meta"
[data]
  dir = "%(dir)s/data"
  wal-dir = "%(dir)s/wal"
  query-log-enabled = false
[http]
  bind-address = "127.0.0.1:%(port)d"
  log-enabled = false
[logging]
  level = "error"
'''
WRITE = (r'>POST /write?db=d HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nm,a=b v=1\n\n',
         r'<HTTP/1.1 204.*\r\n\r\n')
CREATE = (r'>POST /query?q=create+database+d HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n',
          r'<results.*\n')


class TheCase(foreign.Healthy):
    name = 'sound-influxdb'
    about = 'influxdb, some 60 queries a second'

    def setup(self):
        port = host.free_port()
        conf = self.lab.write('influxdb.conf', CONF % {'dir': self.lab.dir, 'port': port,
                                                       'rpc': host.free_port()})
        self.server = servers.ready(self.lab, self.lab.spawn(['influxd', '-config', conf]), port)

    def load(self):
        port = self.server.port
        self.talk('', 'tcp', port, foreign.get('/query?db=d&q=select+last(v)+from+m')[0],
                  r'<results.*\n', opening=(*CREATE, *WRITE), conns=2, pause=30)
