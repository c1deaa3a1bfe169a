# SPDX-License-Identifier: Apache-2.0
"""Starts Debian's servers inside a lab, each on 127.0.0.1 and a free port.

Every function returns a Proc with .port added, and the server answers already.
"""
import os
import pwd
import shutil
import signal
import socket
import sys

from . import host
from .lab import LabError, LabMissing

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(os.path.dirname(HERE), 'bin')
PG_BIN = '/usr/lib/postgresql/15/bin'
TOMCAT = '/usr/share/tomcat10'


def own_dir(lab, name, user):
    full = lab.path(name)
    os.mkdir(full, 0o750)
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise LabMissing("no user '%s': its package is not installed" % user)
    os.chown(full, entry.pw_uid, entry.pw_gid)
    return full


def ready(lab, proc, port):
    lab.wait_port(proc, port)
    proc.port = port
    return proc


def redis(lab, *options, cpu=None):
    port = host.free_port()
    os.mkdir(lab.path('redis'))
    proc = lab.spawn(['redis-server', '--port', port, '--bind', '127.0.0.1', '--save', '',
                      '--dir', lab.path('redis'), *options], cpu=cpu)
    return ready(lab, proc, port)


def redis_call(port, *words):
    """One command by a connection of its own; the raw answer's text."""
    with socket.create_connection(('127.0.0.1', port), 30) as s:
        s.sendall(b'*%d\r\n' % len(words))
        for word in words:
            data = str(word).encode()
            s.sendall(b'$%d\r\n%s\r\n' % (len(data), data))
        answer = s.makefile('rb')
        line = answer.readline()
        if line.startswith(b'$'):
            return answer.read(max(0, int(line[1:]))).decode()
        return line.decode().strip()


def redis_info(port, key):
    for line in redis_call(port, 'INFO', 'stats').splitlines():
        if line.startswith(key + ':'):
            return int(line.split(':')[1])
    raise LabError('redis INFO has no ' + key)


def nginx(lab, location, upstream='', cpu=None, modules=()):
    """One worker; location is the body of `location /`.  The pid is the master's."""
    port = host.free_port()
    for sub in ('nginx', 'nginx/www'):
        os.mkdir(lab.path(sub))
    lab.write('nginx/www/file', 'x' * 10240)
    lab.write('nginx/www/small', 'hello\n')
    loads = ''.join('load_module /usr/lib/nginx/modules/%s_module.so;\n' % m for m in modules)
    conf = lab.write('nginx/nginx.conf', loads + '''
worker_processes 1; pid %(d)s/pid; error_log %(d)s/error.log; user www-data;
events { worker_connections 1024; }
http {
  access_log off; default_type text/plain; keepalive_requests 1000000;
  client_body_temp_path %(d)s/t1; proxy_temp_path %(d)s/t2; fastcgi_temp_path %(d)s/t3;
  uwsgi_temp_path %(d)s/t4; scgi_temp_path %(d)s/t5;
  %(up)s
  server { listen 127.0.0.1:%(p)d; root %(d)s/www; location / { %(loc)s } }
}
''' % {'d': lab.path('nginx'), 'p': port, 'up': upstream, 'loc': location})
    proc = lab.spawn(['nginx', '-c', conf, '-p', lab.path('nginx'), '-g', 'daemon off;'],
                     cpu=cpu, stop=signal.SIGTERM)
    return ready(lab, proc, port)


def upstream(lab, delay_ms, *silence, cpu=None):
    """silence: for how long, and how often, it answers nobody; in ms."""
    port = host.free_port()
    proc = lab.spawn([sys.executable, os.path.join(BIN, 'upstream.py'),
                      '127.0.0.1:%d' % port, delay_ms, *silence], cpu=cpu)
    return ready(lab, proc, port)


def haproxy(lab, server_line):
    port = host.free_port()
    conf = lab.write('haproxy.cfg', '''
global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout queue 60s
frontend f
  bind 127.0.0.1:%d
  default_backend b
backend b
  %s
''' % (port, server_line))
    return ready(lab, lab.spawn(['haproxy', '-db', '-f', conf]), port)


def postgres(lab, *options, cgroup=None):
    """The pid is the postmaster's."""
    port = host.free_port()
    data = own_dir(lab, 'pg', 'postgres')
    lab.call([PG_BIN + '/initdb', '-D', data, '-U', 'postgres', '-A', 'trust',
              '--no-sync', '-E', 'UTF8', '--locale=C'], user='postgres')
    proc = lab.spawn([PG_BIN + '/postgres', '-D', data, '-p', port, '-h', '127.0.0.1',
                      '-c', 'unix_socket_directories=', '-c', 'shared_buffers=128MB',
                      '-c', 'max_connections=64', *options],
                     user='postgres', cgroup=cgroup, stop=signal.SIGINT)
    lab.wait_for(proc, lambda: pg_ready(lab, port), 'answer')
    proc.port = port
    return proc


def pg_ready(lab, port):
    try:
        lab.call([PG_BIN + '/pg_isready', '-h', '127.0.0.1', '-p', port, '-q'])
        return True
    except LabError:
        return False


def psql(lab, port, text, database='postgres'):
    return lab.call(['psql', '-h', '127.0.0.1', '-p', port, '-U', 'postgres', '-qAt',
                     '-v', 'ON_ERROR_STOP=1', '-d', database], stdin_text=text)


def mariadb(lab, *options):
    """A server with database sbtest and user sb without a password."""
    port = host.free_port()
    data = own_dir(lab, 'maria', 'mysql')
    lab.call(['mariadb-install-db', '--no-defaults', '--user=mysql', '--datadir=' + data,
              '--auth-root-authentication-method=normal', '--skip-test-db'])
    start = lab.write('maria.sql', 'create database if not exists sbtest;\n'
                      "create user if not exists sb@'127.0.0.1';\n"
                      "grant all on *.* to sb@'127.0.0.1';\n")
    proc = lab.spawn(['mariadbd', '--no-defaults', '--user=mysql', '--datadir=' + data,
                      '--port=%d' % port, '--bind-address=127.0.0.1', '--skip-name-resolve',
                      '--socket=' + data + '/s', '--init-file=' + start,
                      '--innodb-buffer-pool-size=128M', *options])
    return ready(lab, proc, port)


def maria_args(port):
    return ['-h', '127.0.0.1', '-P', port, '-u', 'sb']


def sysbench_args(port, test, *options):
    return ['sysbench', test, '--db-driver=mysql', '--mysql-host=127.0.0.1',
            '--mysql-port=%d' % port, '--mysql-user=sb', '--mysql-db=sbtest', *options]


def tomcat(lab, max_threads, pages):
    """pages: {file name: text} of the web application at /."""
    home = TOMCAT
    if not os.path.exists(home + '/bin/bootstrap.jar'):
        raise LabMissing('tomcat10 is not installed (run tools/deps eval)')
    port = host.free_port()
    for sub in ('conf', 'logs', 'temp', 'work', 'webapps/ROOT'):
        os.makedirs(lab.path('tomcat', sub))
    lab.write('tomcat/conf/server.xml', '''<Server port="-1"><Service name="Catalina">
<Connector port="%d" address="127.0.0.1" protocol="HTTP/1.1" maxThreads="%d"
 minSpareThreads="%d"/>
<Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps"
 autoDeploy="false"/></Engine></Service></Server>''' % (port, max_threads, max_threads))
    shutil.copy('/etc/tomcat10/web.xml', lab.path('tomcat/conf/web.xml'))
    for name, text in pages.items():
        lab.write('tomcat/webapps/ROOT/' + name, text)
    jars = ':'.join(home + '/bin/' + j for j in ('bootstrap.jar', 'tomcat-juli.jar'))
    proc = lab.spawn(['java', '-Xmx256m', '-XX:+PreserveFramePointer', '-cp', jars, '-Dcatalina.home=' + home,
                      '-Dcatalina.base=' + lab.path('tomcat'),
                      '-Djava.io.tmpdir=' + lab.path('tomcat/temp'),
                      'org.apache.catalina.startup.Bootstrap', 'start'])
    return ready(lab, proc, port)


def node(lab, script, names=False, name='server.js', env=None):
    """script is JavaScript that listens on process.env.PORT; names: its functions get some."""
    port = host.free_port()
    exe = 'node' if shutil.which('node', path=host.PATH) else 'nodejs'
    env = {'PORT': str(port), **{k: str(v) for k, v in (env or {}).items()}}
    if names:
        env['NODE_OPTIONS'] = '--perf-basic-prof-only-functions --interpreted-frames-native-stack'
    proc = lab.spawn([exe, lab.write(name, script)], env=env)
    PerfMap(lab, proc.pid)
    return ready(lab, proc, port)


class PerfMap:
    """The file of names that a runtime leaves in /tmp; removed with the lab."""

    def __init__(self, lab, pid):
        self.path = '/tmp/perf-%d.map' % pid
        lab.cgroups.append(self)

    def remove(self):
        if os.path.exists(self.path):
            os.unlink(self.path)


def npm(lab, *packages):
    """Packages of the registry, in the lab's own node_modules."""
    lab.write('package.json', '{"private": true}\n')
    lab.call(['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', *packages])


def jvm_names(lab, proc):
    """Have a Java VM write the names of its compiled code, as `--jit` does."""
    PerfMap(lab, proc.pid)
    lab.call(['jcmd', proc.pid, 'Compiler.perfmap'])


PYTHON = '/usr/bin/python3'
PYTHON_SERVER = '''
import os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def do_GET(self):
        data = handle(self.path).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass

ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
'''


def python(lab, handlers):
    """A server with threads of Debian's Python; handlers defines handle(path)."""
    port = host.free_port()
    proc = lab.spawn([PYTHON, lab.write('server.py', handlers + PYTHON_SERVER)],
                     env={'PORT': str(port)})
    return ready(lab, proc, port)
