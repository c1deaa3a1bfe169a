# SPDX-License-Identifier: Apache-2.0
"""A program that delivers mail keeps the mailbox locked by fcntl while it writes slowly."""
import os

from kit import foreign, host, servers

CONF = '''
protocols = imap
listen = 127.0.0.1
base_dir = %(dir)s/run
state_dir = %(dir)s/run
log_path = %(dir)s/dovecot.log
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain
mail_location = mbox:%(dir)s/mail:INBOX=%(dir)s/mail/inbox
mbox_read_locks = fcntl
mbox_write_locks = fcntl
first_valid_uid = 1
passdb {
  driver = static
  args = nopassword=y
}
userdb {
  driver = static
  args = uid=mail gid=mail home=%(dir)s/mail
}
service imap-login {
  inet_listener imap {
    port = %(port)d
  }
  inet_listener imaps {
    port = 0
  }
}
'''
DELIVER = '''
import fcntl, sys, time
while True:
    with open(sys.argv[1], 'r+') as box:
        fcntl.lockf(box, fcntl.LOCK_EX)
        box.seek(0, 2)
        box.write('From a@x.test Mon Nov 23 10:00:00 2026\\nSubject: news\\n\\n')
        box.flush()
        time.sleep(0.5)		# what it delivers comes slowly
        box.write('news\\n\\n')
    time.sleep(0.2)
'''


class TheCase(foreign.Foreign):
    name = 'dovecot-mbox'
    about = 'a delivery keeps the mbox of the inbox locked for 500 of 700 ms'
    hurts = ('', 'p99 ms', 200)

    def setup(self):
        lab, port = self.lab, host.free_port()
        mail = servers.own_dir(lab, 'mail', 'mail')
        inbox = os.path.join(mail, 'inbox')
        lab.write('mail/inbox', '')
        os.chmod(inbox, 0o666)
        os.mkdir(lab.path('run'))
        conf = lab.write('dovecot.conf', CONF % {'dir': lab.dir, 'port': port})
        self.server = servers.ready(lab, lab.spawn(['dovecot', '-F', '-c', conf]), port)
        deliver = lab.spawn([servers.PYTHON, lab.write('deliver.py', DELIVER), inbox],
                            user='mail')
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', what='the inbox, or the program that delivers',
            party=foreign.process(deliver) + '|mail/inbox')

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>b SELECT INBOX\r\n', r'<b (OK|NO)[^\n]*\n',
                  conns=3, pause=20, opening=(r'<\* OK', r'>a LOGIN joe x\r\n', r'<a OK'))
