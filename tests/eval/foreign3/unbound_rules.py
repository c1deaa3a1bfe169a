# SPDX-License-Identifier: Apache-2.0
"""A script in unbound compares each name with a list of 12,000 expressions, one by one."""
from kit import foreign, host

CONF = '''
server:
  interface: 127.0.0.1
  port: %(port)d
  do-daemonize: no
  use-syslog: no
  username: ""
  chroot: ""
  directory: "%(dir)s"
  pidfile: ""
  num-threads: 1
  module-config: "python iterator"
python:
  python-script: "%(dir)s/rules.py"
remote-control:
  control-enable: no
'''
SCRIPT = r'''
import re
RULES = []

def init(id, cfg):
    RULES.extend(re.compile(r'(^|[.-])ads?%d[.-]' % i) for i in range(12000))
    return True

def deinit(id):
    return True

def inform_super(id, qstate, superqstate, qdata):
    return True

def operate(id, event, qstate, qdata):
    name = qstate.qinfo.qname_str.rstrip('.')
    blocked = any(rule.search(name) for rule in RULES)
    answer = DNSMessage(name + '.', RR_TYPE_A, RR_CLASS_IN, PKT_QR | PKT_RA)
    answer.answer.append('%s. 60 IN A %s' % (name, '0.0.0.0' if blocked else '192.0.2.1'))
    if not answer.set_return_msg(qstate):
        qstate.ext_state[id] = MODULE_ERROR
        return True
    qstate.return_rcode = RCODE_NOERROR
    qstate.ext_state[id] = MODULE_FINISHED
    return True
'''


class TheCase(foreign.Foreign):
    name = 'unbound-rules'
    about = 'a Python module compares each name with 12,000 expressions; eight clients'
    hurts = ('', 'p50 ms', 15)

    def setup(self):
        lab, port = self.lab, host.free_port()
        lab.write('rules.py', SCRIPT)
        conf = lab.write('unbound.conf', CONF % {'port': port, 'dir': lab.dir})
        self.server = lab.spawn(['unbound', '-d', '-c', conf],
                                env={'PYTHONPATH': '/usr/lib/python3/dist-packages'})
        lab.wait_port(self.server, port)
        self.server.port = port
        self.truth_of = foreign.Named('cpu-own', what='unbound, or its Python',
                                      party='unbound', function='sre_|PyEval|python')

    def load(self):
        for i in range(8):	# a question that is asked already is asked once
            self.talk('c%d' % i if i else '', 'udp', self.server.port,
                      foreign.dns('img%d.static-assets-eu.cdn.x.org' % i), '<.', conns=1,
                      timeout=10)
