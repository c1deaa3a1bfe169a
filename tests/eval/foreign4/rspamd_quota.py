# SPDX-License-Identifier: Apache-2.0
"""rspamd has a CPU quota of 20 % of a core for all of its processes."""
import os

from kit import foreign, host, servers

CONF = '''
options {
  pidfile = "%(dir)s/pid";
  tempdir = "%(dir)s";
  rrd = "";
  history_file = "";
  url_tld = "/usr/share/rspamd/effective_tld_names.dat";
  filters = "chartable,regexp";
  dns { nameserver = ["127.0.0.1:9"]; timeout = 0.01s; retransmits = 1; }
}
logging { type = "console"; level = "error"; }
worker "normal" { bind_socket = "127.0.0.1:%(port)d"; count = 2; }
metric { name = "default"; }
regexp {
  LONG { re = "/(sale|prize|winner)[^\\\\n]{0,80}(click|now|here)/{body}"; score = 1; }
}
'''
TEXT = 'the quick brown fox has a sale and so on and on until you click it here now\\r\\n' * 120
MAIL = r'From: a@x.test\r\nTo: b@x.test\r\nSubject: hello\r\nMessage-Id: <1@x.test>\r\n\r\n' + TEXT


class TheCase(foreign.Foreign):
    name = 'rspamd-quota'
    about = 'rspamd with two workers under a CPU quota of 20 %, four clients'
    hurts = ('', 'p99 ms', 80)
    warm_s = 2

    def setup(self):
        lab, port = self.lab, host.free_port()
        os.chmod(lab.dir, 0o777)
        group = lab.cgroup('cpu')
        self.server = servers.ready(lab, lab.spawn(
            ['rspamd', '-f', '-i', '-u', '_rspamd', '-g', '_rspamd', '-c', lab.write(
                'rspamd.conf', CONF % {'dir': lab.dir, 'port': port})], cgroup=group), port)
        group.limit(cpu_quota=0.2)
        self.truth_of = foreign.Named('cpu-quota', what="the quota's cgroup", party=group.name)

    def load(self):
        size = len(MAIL.encode().decode('unicode_escape'))
        self.talk('', 'tcp', self.server.port, r'>POST /checkv2 HTTP/1.1\r\nHost: localhost\r\n'
                  r'Content-Length: %d\r\n\r\n%s' % (size, MAIL), '<"message-id"', conns=4,
                  fresh=True)
