# SPDX-License-Identifier: Apache-2.0
"""A Lua handler of nginx computes for 150 ms, some times a second."""
from kit import foreign, servers

LUA = '''
default_type text/plain;
content_by_lua_block {
  if ngx.var.uri == "/report" then
    ngx.update_time()
    local stop, s = ngx.now() + 0.15, ""
    while ngx.now() < stop do
      for i = 1, 2000 do s = string.rep(tostring(i), 3):reverse() end
      ngx.update_time()
    end
  end
  ngx.header.content_length = 3
  ngx.print("ok\\n")
}
'''


class TheCase(foreign.Foreign):
    name = 'nginx-lua'
    about = 'content_by_lua that computes for 150 ms three times a second, beside quick requests'
    hurts = ('', 'p99 ms', 120)
    truth_of = foreign.Named('loop-blocked', what='nginx', party='nginx')

    def setup(self):
        self.server = servers.nginx(self.lab, LUA, modules=('ndk_http', 'ngx_http_lua'))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=20)
        self.talk('report', 'tcp', self.server.port, *foreign.get('/report'), conns=1, pause=180)
