# SPDX-License-Identifier: Apache-2.0
"""Requests of one session wait for the session file, which each keeps for 80 ms."""
import os

from kit import foreign, servers

FPM = '''
[global]
error_log = %(dir)s/fpm.log
daemonize = no
[www]
user = www-data
group = www-data
listen = %(dir)s/fpm.sock
listen.mode = 0666
pm = static
pm.max_children = 6
php_value[session.save_path] = %(dir)s/sessions
'''
PAGE = '''<?php session_start(); $_SESSION['n'] = 1; usleep(80000); echo "ok\\n";'''
LOCATION = '''fastcgi_pass unix:%(dir)s/fpm.sock;
 fastcgi_param SCRIPT_FILENAME %(dir)s/page.php; fastcgi_param REQUEST_METHOD GET;
 fastcgi_param HTTP_COOKIE "PHPSESSID=abcdefgh12345678";'''


class TheCase(foreign.Foreign):
    name = 'php-session'
    about = 'php-fpm: six requests of one session, each keeps its file locked for 80 ms'
    hurts = ('', 'p50 ms', 300)
    truth_of = foreign.Named('lock-held', 'lock-convoy', what='the session file, or php-fpm',
                             party=r'sess_abcd|php-fpm')

    def setup(self):
        d = {'dir': self.lab.dir}
        servers.own_dir(self.lab, 'sessions', 'www-data')
        self.lab.write('page.php', PAGE)
        self.server = self.lab.spawn(['php-fpm8.2', '-F', '-y',
                                      self.lab.write('fpm.conf', FPM % d)])
        self.lab.wait_for(self.server, lambda: os.path.exists(self.lab.path('fpm.sock')),
                          'socket')
        self.front = servers.nginx(self.lab, LOCATION % d)

    def load(self):
        self.talk('', 'tcp', self.front.port, *foreign.GET, conns=6, fresh=True)
