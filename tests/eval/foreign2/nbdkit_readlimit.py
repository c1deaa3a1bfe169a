# SPDX-License-Identifier: Apache-2.0
"""nbdkit serves blocks of a file past the cache; its cgroup may read 40 times a second."""
import os

from kit import foreign, host, servers

SIZE = 32 << 20
BLOCK = 4096
NBD_MAGIC = r'\x25\x60\x95\x13'


def read_at(offset):
    """A dialogue: one block (request of NBD: magic, type 0, handle, offset, length)."""
    where = ''.join(r'\x%02x' % b for b in offset.to_bytes(8, 'big'))
    size = ''.join(r'\x%02x' % b for b in BLOCK.to_bytes(4, 'big'))
    return (r'>' + NBD_MAGIC + r'\x00' * 4 + 'heldup00' + where + size,
            r'<\x67\x44\x66\x98.{%d}' % (12 + BLOCK))


class TheCase(foreign.Foreign):
    name = 'nbdkit-readlimit'
    about = 'reads past the page cache under a cgroup limit of 40 reads/s, four clients'
    hurts = ('', 'p50 ms', 60)

    def setup(self):
        lab, group, port = self.lab, self.lab.cgroup('blkio'), host.free_port()
        image = lab.path('image')
        with open(image, 'wb') as f:
            f.write(os.urandom(SIZE))
            f.flush()
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.server = servers.ready(lab, lab.spawn(
            ['nbdkit', '-f', '-o', '-r', '-i', '127.0.0.1', '-p', port, 'file', image,
             'cache=none'], cgroup=group), port)
        dev, disk = host.disk_of(lab.dir)
        group.limit(read_iops=(dev, 40))
        self.truth_of = foreign.Named('disk-limit', what='the limit of the cgroup',
                                      party='%s|%s' % (disk, group.name))

    def load(self):
        for i in range(4):
            self.talk('' if not i else 'c%d' % i, 'tcp', self.server.port,
                      *read_at(i * (SIZE // 4)), opening=('<.{152}',), conns=1)
