# SPDX-License-Identifier: Apache-2.0
"""What the machine gives: ports, processes, cgroups (v1 and v2), busy meters."""
import os
import socket
import time

PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/15/bin'
CGROOT = '/sys/fs/cgroup'
TICKS = os.sysconf('SC_CLK_TCK')
_cgroup_cnt = 0


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def port_open(port, address='127.0.0.1'):
    with socket.socket() as s:
        s.settimeout(0.5)
        return s.connect_ex((address, port)) == 0


def cpu_for_load():
    """The core for load generators, or None where there is just one."""
    return 1 if (os.cpu_count() or 1) > 1 else None


def be_nice(value):
    """Niceness of this process, and of its session where the kernel groups by those.

    With autogroups a process's own niceness counts only inside its session.
    """
    os.nice(value)
    try:
        _put('/proc/self/autogroup', str(os.nice(0)))
    except OSError:
        pass


def _stat_fields(pid):
    try:
        with open('/proc/%d/stat' % pid) as f:
            return f.read().rpartition(')')[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _tree():
    """{ppid: [pid]} and {pid: ticks with reaped children}, of all processes."""
    kids, ticks = {}, {}
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        fields = _stat_fields(int(name))
        if not fields:
            continue
        kids.setdefault(int(fields[1]), []).append(int(name))
        ticks[int(name)] = sum(int(v) for v in fields[11:15])
    return kids, ticks


def descendants(pid):
    kids, _ = _tree()
    found, left = [], [pid]
    while left:
        for kid in kids.get(left.pop(), ()):
            found.append(kid)
            left.append(kid)
    return found


def tree_ticks(pid):
    """CPU time of a process and all below it, with those already reaped."""
    kids, ticks = _tree()
    total, left = ticks.get(pid, 0), [pid]
    while left:
        for kid in kids.get(left.pop(), ()):
            total += ticks.get(kid, 0)
            left.append(kid)
    return total


def children(pid):
    return sorted(_tree()[0].get(pid, ()))


def comm(pid):
    try:
        with open('/proc/%d/comm' % pid) as f:
            return f.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ''


class Foreign:
    """CPU used by processes that are not ours, in cores, from begin to end.

    A verdict taken while somebody else compiles is not worth much: the table
    shows this figure beside it.
    """

    def __init__(self):
        self.start = (time.monotonic(), *self._read())

    @staticmethod
    def _read():
        with open('/proc/stat') as f:
            v = [int(x) for x in f.readline().split()[1:9]]
        total = v[0] + v[1] + v[2] + v[5] + v[6] + v[7]
        return total, tree_ticks(os.getpid())

    def cores(self):
        t0, total0, own0 = self.start
        total1, own1 = self._read()
        span = max(time.monotonic() - t0, 0.01) * TICKS
        return max(0.0, ((total1 - total0) - (own1 - own0)) / span)


def disk_of(path):
    """'major:minor' of the whole disk below path, and its name."""
    dev = os.stat(path).st_dev
    key = '%d:%d' % (os.major(dev), os.minor(dev))
    link = os.path.realpath('/sys/dev/block/' + key)
    if os.path.exists(os.path.join(link, 'partition')):
        link = os.path.dirname(link)
    with open(os.path.join(link, 'dev')) as f:
        return f.read().strip(), os.path.basename(link)


class Cgroup:
    """A cgroup with limits: cpu_quota (share of one core), write_iops or
    read_iops=(dev, n)."""

    def __init__(self, controller, limits):
        global _cgroup_cnt
        _cgroup_cnt += 1
        self.v2 = os.path.exists(CGROOT + '/cgroup.controllers')
        self.name = 'heldup-eval-%d-%d' % (os.getpid(), _cgroup_cnt)
        top = CGROOT if self.v2 else os.path.join(CGROOT, controller)
        if self.v2:
            _put(CGROOT + '/cgroup.subtree_control',
                 '+' + {'blkio': 'io'}.get(controller, controller))
        self.dir = os.path.join(top, self.name)
        os.mkdir(self.dir)
        self.limit(**limits)

    def limit(self, **limits):
        for key, value in limits.items():
            getattr(self, '_' + key)(value)

    def _cpu_quota(self, share):
        quota = int(share * 100000)
        if self.v2:
            _put(self.dir + '/cpu.max', '%d 100000' % quota)
        else:
            _put(self.dir + '/cpu.cfs_period_us', '100000')
            _put(self.dir + '/cpu.cfs_quota_us', str(quota))

    def _write_iops(self, dev_and_rate):
        self._iops('write', *dev_and_rate)

    def _read_iops(self, dev_and_rate):
        self._iops('read', *dev_and_rate)

    def _iops(self, way, dev, rate):
        if self.v2:
            _put(self.dir + '/io.max', '%s %siops=%d' % (dev, way[0], rate))
        else:
            _put(self.dir + '/blkio.throttle.%s_iops_device' % way, '%s %d' % (dev, rate))

    def enter(self):
        _put(self.dir + '/cgroup.procs', '0')

    def add(self, pid):
        _put(self.dir + '/cgroup.procs', str(pid))

    def remove(self):
        for _ in range(300):	# a dead process's throttled writes keep it for seconds
            try:
                os.rmdir(self.dir)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.05)


def _put(path, text):
    with open(path, 'w') as f:
        f.write(text)


def has_room(folder, need):
    try:
        at = os.statvfs(folder)
    except OSError:
        return False
    return at.f_bavail * at.f_frsize >= need
