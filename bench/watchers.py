# SPDX-License-Identifier: Apache-2.0
"""What watches during a run: heldup, or one of its peers.  All have

    begin(workload, seconds), end() -> dict of what it cost itself
"""
import json
import os
import re
import shutil
import signal
import time

from kit import host
from kit.lab import LabError

ATTACH_WAIT_S = 8
HERE = os.path.dirname(os.path.abspath(__file__))


def cpu_seconds(pid):
    """User and system time of a process so far; None if it is gone."""
    try:
        with open('/proc/%d/stat' % pid) as f:
            fields = f.read().rpartition(')')[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return (int(fields[11]) + int(fields[12])) / host.TICKS


def peak_rss_mib(pid):
    try:
        with open('/proc/%d/status' % pid) as f:
            for line in f:
                if line.startswith('VmHWM'):
                    return int(line.split()[1]) / 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0.0


def bpf_fd_cnt(pid):
    cnt = 0
    try:
        for fd in os.listdir('/proc/%d/fd' % pid):
            cnt += 'bpf' in os.readlink('/proc/%d/fd/%s' % (pid, fd))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return cnt


class Nothing:
    """The control: a second run without a watcher shows the machine's own scatter."""

    name = 'nothing (noise)'
    tools = ()

    def begin(self, workload, seconds):
        pass

    def end(self):
        return {}


class Heldup:
    name = 'heldup'
    tools = ()
    options = ()

    def __init__(self, path, more=()):
        self.path, self.options = path, [*self.options, *more]

    def begin(self, workload, seconds):
        self.proc = workload.lab.spawn([self.path, 'why', *workload.selection(),
                                        *self.options, '-d', '%gs' % (seconds + 4), '--json'])
        self.wait_attached()
        self.cpu0, self.t0 = cpu_seconds(self.proc.pid), time.monotonic()

    def wait_attached(self):
        """Until its BPF programs are loaded and their number stays the same."""
        end, before = time.monotonic() + ATTACH_WAIT_S, -1
        while time.monotonic() < end and self.proc.alive():
            time.sleep(0.3)
            now = bpf_fd_cnt(self.proc.pid)
            if now and now == before:
                return
            before = now
        raise LabError('heldup did not attach: ' + self.proc.text()[-300:])

    def end(self):
        pid = self.proc.pid
        cpu1, t1, rss = cpu_seconds(pid), time.monotonic(), peak_rss_mib(pid)
        if cpu1 is None or not self.proc.alive():
            raise LabError('heldup ended before the load: ' + self.proc.text()[-300:])
        watching = {'cpu_percent': 100 * (cpu1 - self.cpu0) / (t1 - self.t0)}
        while self.proc.alive():		# the peak may come with the analysis
            rss = max(rss, peak_rss_mib(pid))
            cpu1 = cpu_seconds(pid) or cpu1
            time.sleep(0.02)
        doc = self.read()
        watching.update(rss_mib=rss, cpu_s=cpu1, self=doc.get('self', {}),
                        window=doc.get('window', {}))
        return watching

    def read(self):
        try:
            text = self.proc.text()
            return json.loads(text[text.index('{'):])
        except ValueError:
            raise LabError('heldup printed no JSON: ' + self.proc.text()[-300:])


class Flight(Heldup):
    """heldup record --calls, ended as a person would."""

    name = 'heldup record --calls'
    kept = ''

    def __init__(self, path, name, *more):
        super().__init__(path)
        self.name, self.more = name, more

    def chosen(self, workload):
        return workload.selection()

    def begin(self, workload, seconds):
        self.proc = workload.lab.spawn(
            [self.path, 'record', '--calls', '--force', '--then', '0', *self.more,
             *self.chosen(workload), '-o', workload.lab.path('calls.cap')], stop=signal.SIGINT)
        self.wait_attached()
        self.cpu0, self.t0 = cpu_seconds(self.proc.pid), time.monotonic()

    def end(self):
        pid = self.proc.pid
        cpu1, t1 = cpu_seconds(pid), time.monotonic()
        rss = peak_rss_mib(pid)
        if cpu1 is None or not self.proc.alive():
            raise LabError('heldup ended before the load: ' + self.proc.text()[-300:])
        os.kill(pid, signal.SIGINT)
        self.proc.popen.wait(120)
        found = re.search(r'window: the last (.*?)[,(].*?([\d.]+ ?[kM]?) calls', self.proc.text())
        lost = re.search(r'lost: ([^;\n]*)', self.proc.text())
        if not found or not lost:
            raise LabError('heldup: ' + self.proc.text()[-300:])
        return {'cpu_percent': 100 * (cpu1 - self.cpu0) / (t1 - self.t0), 'rss_mib': rss,
                'kept': '%s calls of %s, lost %s' % (found.group(2), found.group(1).strip(),
                                                     lost.group(1))}


class Watch(Heldup):
    """build/tests/watch: it prints each event, and can be asked to walk at each wait."""

    def __init__(self, path, stacks):
        super().__init__(path)
        self.stacks = stacks	# enum stacks_mode

    def begin(self, workload, seconds):
        self.proc = workload.lab.spawn([self.path, seconds + 4, 0, workload.server.pid],
                                       env={'WATCH_STACKS': self.stacks})
        self.wait_attached()

    def end(self):
        self.proc.popen.wait(60)


class Peer:
    """A tool that runs until it is interrupted."""

    name = ''
    tools = ()
    attach_s = 2.0

    def argv(self, workload):
        raise NotImplementedError

    def begin(self, workload, seconds):
        self.proc = workload.lab.spawn(self.argv(workload), stop=signal.SIGINT)
        time.sleep(self.attach_s)
        if not self.proc.alive():
            raise LabError('%s: %s' % (self.name, self.proc.text()[-300:]))
        self.mark()

    def mark(self):
        self.cpu0, self.t0 = cpu_seconds(self.proc.pid), time.monotonic()

    def end(self):
        cpu1, t1 = cpu_seconds(self.proc.pid), time.monotonic()
        rss = peak_rss_mib(self.proc.pid)
        self.finish()
        if cpu1 is None:
            raise LabError('%s ended early: %s' % (self.name, self.proc.text()[-300:]))
        return {'cpu_percent': 100 * (cpu1 - self.cpu0) / (t1 - self.t0), 'rss_mib': rss}

    def finish(self):
        self.proc.stop()


class Bpftrace(Peer):
    """Needs debugfs where it looks for it: mounted in a name space of its own."""

    tools = ('bpftrace', 'unshare')
    attach_s = 4.0
    script = ''

    def argv(self, workload):
        with open(os.path.join(HERE, self.script)) as f:
            text = f.read().replace('/FILTER/', '/%s/' % workload.bpftrace_filter())
        script = workload.lab.write(self.script, text)
        return ['unshare', '-m', 'sh', '-c', '[ -e /sys/kernel/debug/tracing/events ] ||'
                ' mount -t debugfs none /sys/kernel/debug; exec bpftrace ' + script]


class Syscount(Bpftrace):
    name = 'bpftrace, count of each call'
    script = 'count.bt'


class BpftraceOffCpu(Bpftrace):
    name = 'bpftrace, off-CPU by stack'
    script = 'offcpu.bt'


class Offcputime(Peer):
    """Of libbpf-tools; it takes one process: servers of several are told by `all`."""

    name = 'libbpf-tools offcputime'
    tools = ('offcputime',)

    def argv(self, workload):
        pids = workload.peer_pids()
        one = len(pids) == 1 and 'uid' not in workload.bpftrace_filter()
        return ['offcputime', *(['-p', str(pids[0])] if one else ['-u'])]


class PerfRecord(Peer):
    """Samples of all CPUs, as most people take them."""

    name = 'perf record -g'
    tools = ('perf',)

    def argv(self, workload):
        return ['perf', 'record', '-g', '-a', '-o', workload.lab.path('perf.data')]


class PerfTrace(Peer):
    name = 'perf trace -s'
    tools = ('perf',)

    def argv(self, workload):
        if 'uid' in workload.bpftrace_filter():
            return ['perf', 'trace', '-s', '-u', workload.bpftrace_filter().split()[-1]]
        return ['perf', 'trace', '-s', '-p', ','.join(str(p) for p in workload.peer_pids())]


class Strace(Peer):
    name = 'strace -c -f'
    tools = ('strace',)

    def argv(self, workload):
        pids = [w for p in workload.peer_pids() for w in ('-p', str(p))]
        return ['strace', '-c', '-f', *pids]


def peers():
    """The peers that are installed here."""
    return [p() for p in (Offcputime, BpftraceOffCpu, Syscount, PerfRecord, PerfTrace)
            if all(shutil.which(t, path=host.PATH) for t in p.tools)]
