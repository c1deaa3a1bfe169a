# SPDX-License-Identifier: Apache-2.0
"""Which share of the stacks of each watcher reaches main or the start of the thread.

One judge for all: eu-stack says at which addresses the outermost frames of the
server's threads stand (_start, __libc_start_main and its helper, main; clone,
start_thread).  A stack reaches the start if its last frame is one of these.
The servers are stripped, so names would not tell.
"""
import os
import re
import struct
import subprocess
import threading

import watchers
from kit import host
from kit.lab import LabError

MAIN_FRAMES = 4		# of the first thread: main and what is above it
THREAD_FRAMES = 2	# of the others
PT_LOAD, PF_X = 1, 1


class Starts:
    """Addresses of outermost frames in the processes of a workload.

    Processes that were forked from one another have the same.
    """

    def __init__(self, pid):
        self.addrs = set()	# in memory
        self.places = set()	# (file, its virtual address)
        self.offsets = set()	# (file, offset in it)
        for one in [pid] + host.descendants(pid):
            self.add(one)
        if not self.addrs:
            raise LabError('eu-stack found no stack of %d' % pid)

    def add(self, pid):
        done = subprocess.run(['eu-stack', '-q', '-p', str(pid)], capture_output=True, text=True)
        maps = executable_maps(pid)
        for text in done.stdout.split('TID ')[1:]:
            frames = [int(a, 16) for a in re.findall(r'^#\d+\s+(0x[0-9a-f]+)', text, re.M)]
            outer = MAIN_FRAMES if int(text.split(':')[0]) == pid else THREAD_FRAMES
            if len(frames) <= outer:
                continue
            for addr in frames[-outer:]:
                self.addrs.add(addr)
                for path, off, vaddr in places_of(maps, addr):
                    self.offsets.add((path, off))
                    self.places.add((path, vaddr))

    def holds(self, addr):
        return addr in self.addrs

    def holds_place(self, path, vaddr):
        return (path, vaddr) in self.places

    def holds_offset(self, path, off):
        """perf takes one from the return addresses that it finds by DWARF."""
        return (path, off) in self.offsets or (path, off + 1) in self.offsets


def executable_maps(pid):
    maps = []
    try:
        with open('/proc/%d/maps' % pid) as f:
            for line in f:
                words = line.split(None, 5)
                if 'x' in words[1] and len(words) == 6 and words[5].startswith('/'):
                    start, end = (int(x, 16) for x in words[0].split('-'))
                    maps.append((start, end, int(words[2], 16), words[5].strip()))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return maps


def places_of(maps, addr):
    """(file, offset in it, virtual address) of an address in memory."""
    for start, end, off, path in maps:
        if start <= addr < end:
            for vaddr, file_off, size in executable_segments(path):
                at = addr - start + off
                if file_off <= at < file_off + size:
                    yield path, at, vaddr + at - file_off


def executable_segments(path):
    with open(path, 'rb') as f:
        head = f.read(64)
        table, width, cnt = (struct.unpack_from('<Q', head, 32)[0],
                             *struct.unpack_from('<HH', head, 54))
        f.seek(table)
        data = f.read(width * cnt)
    for i in range(cnt):
        kind, flags, off, vaddr, _, size = struct.unpack_from('<IIQQQQ', data, i * width)
        if kind == PT_LOAD and flags & PF_X:
            yield vaddr, off, size


class Reach:
    """Stacks counted: taken of so many events, and how many of them reach the start."""

    def __init__(self):
        self.event_cnt = self.stack_cnt = self.reached_cnt = self.frame_cnt = 0

    def add(self, frame_cnt, reached, cnt=1):
        self.event_cnt += cnt
        self.stack_cnt += cnt
        self.frame_cnt += frame_cnt * cnt
        self.reached_cnt += cnt if reached else 0

    def add_without(self, cnt=1):
        self.event_cnt += cnt

    def percent(self):
        return '%.1f' % (100 * self.reached_cnt / self.stack_cnt) if self.stack_cnt else '-'

    def covered(self):
        return '%.0f' % (100 * self.stack_cnt / self.event_cnt) if self.event_cnt else '-'

    def frames(self):
        return '%.1f' % (self.frame_cnt / self.stack_cnt) if self.stack_cnt else '-'


KERNEL = 1 << 63


def of_perf_script(text, starts):
    """Samples of `perf script -F ip,sym,dso`: a line for each frame, an empty one behind all.

    In code of files the address is the offset in the file.
    """
    found = Reach()
    for sample in re.split(r'\n\s*\n', text):
        frames = [(int(addr, 16), path) for addr, path in
                  re.findall(r'^\s*([0-9a-f]+) .*\((.*)\)$', sample, re.M)]
        if frames:
            user = [f for f in frames if f[0] < KERNEL]
            found.add(len(user), bool(user) and starts.holds_offset(user[-1][1], user[-1][0]))
    return found


def of_bpftrace(text, starts):
    """{'on': Reach, 'off': Reach} of maps `@on[ustack(perf)] = count()`."""
    found = {'on': Reach(), 'off': Reach()}
    for name, body, cnt in re.findall(r'^@(on|off)\[\n?(.*?)\n?\]: (\d+)$', text, re.M | re.S):
        addrs = [int(a, 16) for a in re.findall(r'^\s+([0-9a-f]+) ', body, re.M)]
        found[name].add(len(addrs), bool(addrs) and starts.holds(addrs[-1]), int(cnt))
    return found


class Members(threading.Thread):
    """All processes and threads that a server has while a load runs."""

    POLL_S = 0.1

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid = pid
        self.pids, self.tids = set(), set()
        self.done = threading.Event()

    def run(self):
        while not self.done.wait(self.POLL_S):
            for pid in [self.pid] + host.descendants(self.pid):
                self.pids.add(pid)
                try:
                    self.tids.update(int(t) for t in os.listdir('/proc/%d/task' % pid))
                except (FileNotFoundError, ProcessLookupError):
                    pass


class Watched:
    """What build/tests/watch prints of stacks (tests/bpf/watch.c), those of members."""

    def __init__(self, text, starts, members):
        self.modules = {}
        self.stacks = {'0': None}	# None: none was taken
        self.starts = starts
        self.members = members
        self.on, self.off, self.waker = Reach(), Reach(), Reach()
        lines = [line.split() for line in text.splitlines()]
        for words in lines:
            self.learn(words)
        for words in lines:
            self.count(words)

    def learn(self, words):
        if words[:1] == ['module'] and len(words) == 5:
            self.modules[int(words[1])] = (int(words[3], 16), words[4])
        elif words[:1] == ['stack'] and int(words[3]) in self.members.pids:
            user = [w for w in words[5:] if not w.startswith('k:')]
            self.stacks[words[1]] = (len(user), bool(user) and self.reached(user[-1]))

    def reached(self, frame):
        module, off = frame.split(':')
        base, path = self.modules.get(int(module), (0, ''))
        return self.starts.holds_place(path, base + int(off, 16))

    def count(self, words):
        if words[:1] == ['sample'] and int(words[2]) in self.members.pids:
            self.add(self.on, words[3])
        elif words[:1] == ['wait'] and len(words) == 16:
            if int(words[1]) in self.members.tids:
                self.add(self.off, words[14])
            if words[15] != '0':	# most wakers are interrupts: no stack is due
                self.add(self.waker, words[15])

    def add(self, into, stack):
        if self.stacks.get(stack):
            into.add(*self.stacks[stack])
        elif stack in self.stacks:
            into.add_without()


def of_heldup(workload, starts, top, seconds):
    """A run of its own with heldup's usual sampling of stacks, each event printed."""
    watch = watchers.Watch(os.path.join(top, 'build', 'tests', 'watch'), '1')
    watch.begin(workload, seconds)
    members = Members(workload.server.pid)
    members.start()
    workload.run(seconds)
    members.done.set()
    members.join()
    watch.end()
    return Watched(watch.proc.text(), starts, members)
