# SPDX-License-Identifier: Apache-2.0
"""Once in 3 s a read of nginx' only worker takes 300 ms: the disk stalls."""
import os
import sys

from kit import host, load, servers
from kit.lab import LabError
from kit.rare import Rare, RareCase


class TheCase(RareCase):
    name = 'rare-nginx-disk'
    about = 'a file read past the cache, its device stalls 300 ms every 3 s; wrk on a small file'
    tools = ('nginx', 'wrk')
    rare = Rare('disk-limit', 'disk-own', 'loop-blocked', stall_ms=300, every_s=3)

    def setup(self):
        self.server = servers.nginx(self.lab, 'location /big { directio 4k; sendfile off;'
                                    ' output_buffers 1 64k; }')	# just its size, or the end is read otherwise
        with open(self.lab.path('nginx/www/big'), 'wb') as f:
            f.write(os.urandom(65536))
            os.fsync(f.fileno())
        if self.degraded:
            self.stall()

    def stall(self):
        group = self.lab.cgroup('blkio')
        if group.v2:
            raise LabError('the limit is set for cgroups of version 1')
        for pid in (self.server.pid, *host.descendants(self.server.pid)):
            group.add(pid)
        device, disk = host.disk_of(self.lab.dir)
        self.rare = Rare('disk-limit', 'disk-own', 'loop-blocked', stall_ms=300, every_s=3,
                         resource='%s|%s' % (disk, group.name),
                         function='^(ngx_read_file|pread(64)?|ngx_output_chain)')
        self.device = [group.dir + '/blkio.throttle.read_iops_device', device]

    def load(self):
        port = self.server.port
        self.loads[''] = load.Wrk(self.lab, port, '/small', 32)
        self.probe('http', port, '/small')
        if self.degraded:
            self.lab.spawn([sys.executable, os.path.join(servers.BIN, 'slow_disk.py'),
                            *self.device, 300, 3000, '127.0.0.1:%d' % port, '/big'],
                           cpu=host.cpu_for_load())

    def select(self):
        return ['-p', str(self.server.pid)]
