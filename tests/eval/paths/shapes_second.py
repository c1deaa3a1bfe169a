# SPDX-License-Identifier: Apache-2.0
"""Real servers that nobody looked at while the rules were made."""
import os

from kit import host, servers

from .shape import APPS, REPLIES, THREADS, Shape

APACHE = '''%(load)s
ServerRoot %(d)s
ServerName localhost
Listen 127.0.0.1:%(port)d
PidFile apache.pid
ErrorLog error.log
User www-data
Group www-data
%(mpm)s
ProxyPassMatch "^/one/([0-9]+)$" "http://127.0.0.1:%(up)d/$1/0"
'''
PREFORK = '''StartServers 8
MinSpareServers 1
MaxSpareServers 8
ServerLimit 8
MaxRequestWorkers 8
KeepAlive Off
'''
EVENT = '''StartServers 2
ServerLimit 2
ThreadsPerChild 16
MinSpareThreads 16
MaxSpareThreads 32
MaxRequestWorkers 32
MaxKeepAliveRequests 0
'''


def apache(mpm, settings):
    def start(lab, upstream_port):
        port, folder = host.free_port(), lab.path('apache')
        os.mkdir(folder)
        modules = ('mpm_' + mpm, 'authz_core', 'proxy', 'proxy_http')
        load = '\n'.join('LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so' % (m, m)
                         for m in modules)
        conf = lab.write('apache/apache.conf', APACHE % {
            'load': load, 'd': folder, 'port': port, 'mpm': settings, 'up': upstream_port})
        return [servers.ready(lab, lab.spawn(['apache2', '-f', conf, '-DFOREGROUND']), port)]
    return start


def puma(lab, upstream_port):
    port = host.free_port()
    proc = lab.spawn(['puma', '-t', '8:8', '-b', 'tcp://127.0.0.1:%d' % port,
                      os.path.join(APPS, 'app_puma.ru')], env={'UPSTREAM': str(upstream_port)})
    return [servers.ready(lab, proc, port)]


def uwsgi(lab, upstream_port):
    port = host.free_port()
    proc = lab.spawn(['uwsgi', '--plugin', 'python3', '--http-socket', '127.0.0.1:%d' % port,
                      '--master', '--processes', 2, '--threads', 4, '--disable-logging',
                      '--wsgi-file', os.path.join(APPS, 'app_wsgi.py')],
                     env={'UPSTREAM': str(upstream_port), 'PYTHONDONTWRITEBYTECODE': '1'})
    return [servers.ready(lab, proc, port)]


SHAPES = tuple(Shape(*row, group='second') for row in (
    ('apache-prefork', apache('prefork', PREFORK), 'mod_proxy, 8 processes', THREADS),
    ('apache-event', apache('event', EVENT), 'mod_proxy, 2 processes of 16 threads', REPLIES),
    ('puma', puma, 'a reactor and 8 threads', REPLIES, 'one,two'),
    ('uwsgi', uwsgi, '2 processes of 4 threads', THREADS, 'one,two'),
))
