# SPDX-License-Identifier: Apache-2.0
"""A module of prosody runs a program of 150 ms inside its only loop."""
import os

from kit import foreign, host, servers

MODULE = '''
module:depends("http");
module:provides("http", { default_path = "/"; route = {
  ["GET /run"] = function() os.execute("sleep 0.15"); return "ok\\n"; end;
  ["GET /quick"] = function() return "ok\\n"; end;
}; });
'''
CONF = '''
daemonize = false; pidfile = "%(dir)s/pid"; data_path = "%(dir)s"; run_as_root = true
plugin_paths = { "%(dir)s/modules" }
modules_enabled = { "http", "answers" }
modules_disabled = { "s2s", "c2s", "posix" }
http_ports = { %(port)d }; http_interfaces = { "127.0.0.1" }; https_ports = {}
http_default_host = "localhost"
log = { error = "%(dir)s/error.log" }
VirtualHost "localhost"
'''


class TheCase(foreign.Foreign):
    name = 'prosody-execute'
    about = 'os.execute("sleep 0.15") in a module, beside quick requests'
    hurts = ('', 'p50 ms', 80)
    truth_of = foreign.Named('loop-blocked', 'peer', what='prosody, or the program it runs',
                             party=r'^(lua|prosody|sleep|sh)')

    def setup(self):
        port = host.free_port()
        os.mkdir(self.lab.path('modules'))
        self.lab.write('modules/mod_answers.lua', MODULE)
        conf = self.lab.write('prosody.cfg.lua', CONF % {'dir': self.lab.dir, 'port': port})
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['prosody', '--config', conf, '-F', '--root']), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/quick'), conns=4, pause=20)
        self.talk('run', 'tcp', self.server.port, *foreign.get('/run'), conns=1, pause=20)
