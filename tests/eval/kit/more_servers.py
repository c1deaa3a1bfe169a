# SPDX-License-Identifier: Apache-2.0
"""The servers of the extra cases; same contract as servers.py."""
import os
import shutil
import signal
import subprocess
import sys

from . import host
from .lab import LabError, LabMissing
from .servers import BIN, ready


def apache(lab, max_workers, cgi, more=''):
    """prefork with max_workers processes; cgi is {name: script} under /cgi/, more is
    configuration."""
    port = host.free_port()
    for sub in ('apache', 'apache/www', 'apache/cgi'):
        os.mkdir(lab.path(sub))
    lab.write('apache/www/file.txt', 'hello\n')
    for name, text in cgi.items():
        lab.write('apache/cgi/' + name, text, mode=0o755)
    modules = ''.join('LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so\n' % (m, m)
                      for m in ('mpm_prefork', 'authz_core', 'cgi', 'alias'))
    conf = lab.write('apache/apache.conf', '''%s
ServerRoot %s
ServerName localhost
Listen 127.0.0.1:%d
PidFile apache.pid
ErrorLog error.log
DocumentRoot www
User www-data
Group www-data
StartServers 2
MinSpareServers 1
MaxSpareServers %d
ServerLimit %d
MaxRequestWorkers %d
KeepAlive Off
ScriptAlias /cgi/ %s/cgi/
<Directory />
Require all granted
</Directory>
%s
''' % (modules, lab.path('apache'), port, max_workers, max_workers, max_workers,
       lab.path('apache'), more))
    proc = lab.spawn(['apache2', '-f', conf, '-DFOREGROUND'])
    return ready(lab, proc, port)


def lighttpd(lab, socket_path):
    """A proxy to an HTTP service on a unix socket."""
    port = host.free_port()
    os.mkdir(lab.path('lighttpd'))
    conf = lab.write('lighttpd/lighttpd.conf', '''
server.modules = ( "mod_proxy" )
server.document-root = "%s"
server.port = %d
server.bind = "127.0.0.1"
proxy.server = ( "" => (( "host" => "%s" )) )
''' % (lab.path('lighttpd'), port, socket_path))
    return ready(lab, lab.spawn(['lighttpd', '-D', '-f', conf]), port)


def unix_upstream(lab, delay_ms):
    path = lab.path('upstream.sock')
    proc = lab.spawn([sys.executable, os.path.join(BIN, 'upstream.py'), path, delay_ms])
    lab.wait_for(proc, lambda: os.path.exists(path), 'socket')
    proc.path = path
    return proc


def pgbouncer(lab, pg_port, pool_size):
    port = host.free_port()
    users = lab.write('users.txt', '"postgres" ""\n')
    conf = lab.write('pgbouncer.ini', '''
[databases]
postgres = host=127.0.0.1 port=%d dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = %d
max_client_conn = 100
''' % (pg_port, port, users, pool_size))
    proc = lab.spawn(['pgbouncer', conf], user='postgres', stop=signal.SIGINT)
    return ready(lab, proc, port)


def memcached(lab, cpu=None):
    port = host.free_port()
    proc = lab.spawn(['memcached', '-l', '127.0.0.1', '-p', port, '-U', 0, '-t', 1,
                      '-u', 'nobody'], cpu=cpu)
    return ready(lab, proc, port)


class RemoteHost:
    """A network name space of its own: another host, as far as sockets can see."""

    def __init__(self, lab, number=77):
        self.name = 'heldup%d' % os.getpid()
        self.address = '10.231.%d.2' % number
        self.link = 'hu%d' % os.getpid()
        lab.cgroups.append(self)	# removed with the lab, as a cgroup is
        if not shutil.which('ip', path=host.PATH):
            raise LabMissing('ip is not installed (package iproute2)')
        self._ip('netns', 'add', self.name)
        self._ip('link', 'add', self.link, 'type', 'veth', 'peer', 'name', 'eth0',
                 'netns', self.name)
        self._ip('addr', 'add', '10.231.%d.1/24' % number, 'dev', self.link)
        self._ip('link', 'set', self.link, 'up')
        self._ip('-n', self.name, 'addr', 'add', self.address + '/24', 'dev', 'eth0')
        self._ip('-n', self.name, 'link', 'set', 'eth0', 'up')

    @staticmethod
    def _ip(*words):
        done = subprocess.run(['ip', *words], capture_output=True, text=True)
        if done.returncode:
            raise LabError('ip %s: %s' % (' '.join(words), done.stderr.strip()))

    def upstream(self, lab, delay_ms):
        port = host.free_port()
        proc = lab.spawn(['ip', 'netns', 'exec', self.name, sys.executable,
                          os.path.join(BIN, 'upstream.py'),
                          '%s:%d' % (self.address, port), delay_ms])
        lab.wait_for(proc, lambda: host.port_open(port, self.address), 'port')
        proc.port = port
        return proc

    def remove(self):
        subprocess.run(['ip', 'netns', 'del', self.name], capture_output=True)
        subprocess.run(['ip', 'link', 'del', self.link], capture_output=True)
