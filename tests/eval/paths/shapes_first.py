# SPDX-License-Identifier: Apache-2.0
"""Real servers that the rules were made with."""
import os

from kit import host, servers

from .shape import APPS, FUTURES, LOOPS, NO_AIM, REPLIES, THREADS, Shape, app

MIX = 'one,two,par'
NGINX = '''
worker_processes 2; pid %(d)s/pid; error_log %(d)s/error.log; user www-data;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000;
  client_body_temp_path %(d)s/t1; proxy_temp_path %(d)s/t2; fastcgi_temp_path %(d)s/t3;
  uwsgi_temp_path %(d)s/t4; scgi_temp_path %(d)s/t5;
  upstream up { server 127.0.0.1:%(up)d; keepalive 64; }
  server { listen 127.0.0.1:%(port)d; location / { %(location)s } }
}
'''
PROXY = '''rewrite ^/one/(.*)$ /$1/0 break; proxy_pass http://up; proxy_http_version 1.1;
 proxy_set_header Connection "";'''
FASTCGI = '''fastcgi_pass up; fastcgi_param SCRIPT_FILENAME %s;
 fastcgi_param REQUEST_METHOD GET; fastcgi_param REQUEST_URI $request_uri;'''
FPM = '''
[global]
error_log = %(dir)s/fpm.log
daemonize = no
[www]
user = www-data
group = www-data
listen = 127.0.0.1:%(port)d
listen.backlog = 512
pm = static
pm.max_children = 8
env[UPSTREAM] = %(up)d
'''


def nginx(lab, location, upstream_port):
    port, folder = host.free_port(), lab.path('nginx')
    os.mkdir(folder)
    conf = lab.write('nginx/nginx.conf', NGINX % {
        'd': folder, 'up': upstream_port, 'port': port, 'location': location})
    proc = lab.spawn(['nginx', '-c', conf, '-p', folder, '-g', 'daemon off;'])
    return servers.ready(lab, proc, port)


def nginx_proxy(lab, upstream_port):
    return [nginx(lab, PROXY, upstream_port)]


def nginx_php(lab, upstream_port):
    port = host.free_port()
    conf = lab.write('fpm.conf', FPM % {'dir': lab.dir, 'port': port, 'up': upstream_port})
    with open(os.path.join(APPS, 'app.php')) as f:
        page = lab.write('app.php', f.read())
    fpm = servers.ready(lab, lab.spawn(['php-fpm8.2', '-F', '-y', conf]), port)
    return [nginx(lab, FASTCGI % page, port), fpm]


def gunicorn(lab, upstream_port):
    port = host.free_port()
    proc = lab.spawn(['gunicorn', '-w', 4, '-b', '127.0.0.1:%d' % port, '--chdir', APPS,
                      'app_wsgi:application'],
                     env={'UPSTREAM': str(upstream_port), 'PYTHONDONTWRITEBYTECODE': '1'})
    return [servers.ready(lab, proc, port)]


def node(name, mode, about, aim, kinds='one'):
    return Shape(name, app('node', 'app_node.js', mode), about, aim, kinds)


def python(name, mode, about, aim):
    return Shape(name, app(servers.PYTHON, 'app_python.py', mode), about, aim, MIX)


def java(name, mode, about, aim, kinds='one'):
    return Shape(name, app('java', '-Xmx256m', 'App.java', mode), about, aim, kinds, warm_s=4.0)


SHAPES = (
    Shape('nginx', nginx_proxy, '2 workers, kept upstream connections', LOOPS),
    Shape('nginx-php', nginx_php, 'nginx and 8 php-fpm, both hops together', REPLIES, 'one,two'),
    Shape('gunicorn', gunicorn, '4 processes', THREADS, 'one,two'),
    node('node', 'plain', 'kept connections without a limit', LOOPS, MIX),
    node('node-sockets', 'sockets', 'maxSockets 4', LOOPS),
    node('node-before', 'before', 'setTimeout before the call', LOOPS),
    node('node-both', 'both', 'setTimeout before and after', NO_AIM),
    node('node-dns', 'dns', 'dns.lookup before, new connections', LOOPS),
    node('node-fs', 'fs', 'readFile before, and in half after', NO_AIM),
    java('java-replies', 'replies', 'a second pool of 8 that replies', REPLIES),
    java('java-futures', 'futures', 'handlers wait for Futures of 8', FUTURES, MIX),
    java('java-async', 'async', 'HttpClient.sendAsync, reply in thenAccept', NO_AIM),
    python('python-threads', 'threads', 'a thread for each connection', THREADS),
    python('python-queue', 'queue', 'reader, queue, 8 workers that reply', REPLIES),
    python('python-executor', 'executor', 'ThreadPoolExecutor(8), result()', FUTURES),
)
