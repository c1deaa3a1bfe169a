# SPDX-License-Identifier: Apache-2.0
"""A job defragments etcd's data again and again; meanwhile nobody may read."""
import base64
import json
import os
import urllib.request

from kit import foreign, host, servers

JOB = 'while :; do etcdctl --endpoints=127.0.0.1:%d --command-timeout=60s defrag; sleep 1; done'
ASK = json.dumps({'key': base64.b64encode(b'/a').decode()})
VALUES, VALUE_BYTES = 400, 500 << 10


def put(port, key, value):
    body = {'key': base64.b64encode(key).decode(), 'value': base64.b64encode(value).decode()}
    urllib.request.urlopen('http://127.0.0.1:%d/v3/kv/put' % port,
                           json.dumps(body).encode(), timeout=30).read()


class TheCase(foreign.Foreign):
    name = 'etcd-defrag'
    about = 'a job defragments 200 MB of data, waits a second, and again'
    hurts = ('', 'p99 ms', 200)
    warm_s = 2

    def setup(self):
        lab, port, peer = self.lab, host.free_port(), host.free_port()
        url, peers = 'http://127.0.0.1:%d' % port, 'http://127.0.0.1:%d' % peer
        self.server = servers.ready(lab, lab.spawn(
            ['etcd', '--data-dir', lab.path('etcd'), '--listen-client-urls', url,
             '--advertise-client-urls', url, '--listen-peer-urls', peers,
             '--initial-advertise-peer-urls', peers, '--initial-cluster', 'default=' + peers],
            env={'GOGC': '50'}), port)
        put(port, b'/a', b'b')
        for i in range(VALUES):
            put(port, b'/config/%d' % i, os.urandom(VALUE_BYTES))

    def load(self):
        job = self.lab.spawn(['sh', '-c', JOB % self.server.port], env={'ETCDCTL_API': '3'})
        self.talk('', 'tcp', self.server.port,
                  r'>POST /v3/kv/range HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s'
                  % (len(ASK), ASK), '<"count"', conns=4, pause=20)
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', 'cpu-own', what='the defragmentation, or who asks for it',
            party=foreign.process(job) + '|etcdctl', function='[dD]efrag')
