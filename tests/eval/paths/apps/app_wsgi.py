# SPDX-License-Identifier: Apache-2.0
"""GET /KIND/ID for gunicorn and uwsgi: a kept upstream connection for each thread."""
import http.client
import os
import threading

own = threading.local()


def call(number, n):
    if not hasattr(own, 'upstream'):
        own.upstream = http.client.HTTPConnection('127.0.0.1', int(os.environ['UPSTREAM']))
    own.upstream.request('GET', '/%s/%d' % (number, n))
    own.upstream.getresponse().read()


def application(env, start):
    _, kind, number = env['PATH_INFO'].split('/')
    for n in range(2 if kind == 'two' else 1):
        call(number, n)
    start('200 OK', [('Content-Length', '3')] +
          ([('Connection', 'close')] if 'uwsgi.version' in env else []))
    return [b'ok\n']
