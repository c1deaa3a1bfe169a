# SPDX-License-Identifier: Apache-2.0
"""kamailio's two UDP workers sleep 100 ms in the routing script; eight callers."""
from kit import foreign, host

CONF = '''#!KAMAILIO
debug=0
log_stderror=yes
fork=yes
children=2
auto_aliases=no
disable_tcp=yes
listen=udp:127.0.0.1:%d
mpath="/usr/lib/x86_64-linux-gnu/kamailio/modules/"
loadmodule "pv.so"
loadmodule "sl.so"
loadmodule "cfgutils.so"
loadmodule "kex.so"
loadmodule "corex.so"
request_route {
    usleep("100000");
    sl_send_reply("200", "OK");
    exit;
}
'''
OPTIONS = (r'>OPTIONS sip:a@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1;rport;branch=z9hG4bK1'
           r'\r\nFrom: <sip:b@127.0.0.1>;tag=1\r\nTo: <sip:a@127.0.0.1>\r\nCall-ID: 1\r\n'
           r'CSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n')


class TheCase(foreign.Foreign):
    name = 'kamailio-workers'
    about = 'two UDP workers that sleep 100 ms in the routing script, eight callers'
    hurts = ('', 'p50 ms', 300)
    truth_of = foreign.Named('workers', 'timer', what='kamailio and its two workers',
                             party=r'kamailio', function='usleep|ki_usleep|sleep')

    def setup(self):
        port = host.free_port()
        conf = self.lab.write('kamailio.cfg', CONF % port)
        self.server = self.lab.spawn(['kamailio', '-DD', '-E', '-f', conf, '-Y', self.lab.dir,
                                      '-m', 32, '-M', 8])
        self.server.port = port

    def load(self):
        self.talk('', 'udp', self.server.port, OPTIONS, '<200 OK', conns=8, timeout=10)
