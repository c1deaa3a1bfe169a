#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of a process by several unwinders at one stop, side by side.

    tests/bpf/oracle.py [-v] PID...

Each process is stopped (SIGSTOP), its threads' stacks are taken by
build/tests/unwind and by eu-stack, and it goes on.  Compared are native
frames, from the innermost to the first whose caller is not told by call frame
information: code made at run time, or none for that place.
"""
import argparse
import collections
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNWIND = os.path.join(ROOT, 'build', 'tests', 'unwind')
SECONDS = 120

Frame = collections.namedtuple('Frame', 'pc how where')
Stack = collections.namedtuple('Stack', 'end frames')
Result = collections.namedtuple('Result', 'threads equal frames cut differ')


def run(argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=SECONDS).stdout


def ours(pid):
    """{tid: Stack} by symbols/unwind/unwind.c."""
    stacks = {}
    for line in run([UNWIND, str(pid)]).splitlines():
        words = line.split(None, 2)
        if words[0] == 'thread':
            stacks[int(words[1])] = Stack(words[2], [])
            last = int(words[1])
        else:
            stacks[last].frames.append(Frame(int(words[0], 16), words[1], words[2]))
    return stacks


def eu_stack(pid):
    """{tid: [pc]}"""
    stacks, pcs = {}, None
    for line in run(['eu-stack', '-q', '-n', '1024', '-p', str(pid)]).splitlines():
        thread = re.match(r'TID (\d+):', line)
        frame = re.match(r'#\d+\s+(0x[0-9a-f]+)', line)
        if thread:
            pcs = stacks.setdefault(int(thread.group(1)), [])
        elif frame:
            pcs.append(int(frame.group(1), 16))
    return stacks


GDB = '''
import gdb
for t in gdb.selected_inferior().threads():
    t.switch()
    f, pcs, n = gdb.newest_frame(), [], 0
    while f and n < 1024:
        if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append('%#x' % f.pc())
        n += 1
        try:
            f = f.older()
        except gdb.error:
            break
    print('STACK', t.ptid[1], ' '.join(pcs))
'''


def gdb(pid):
    """{tid: [pc]}"""
    text = run(['gdb', '-q', '-nx', '-batch', '-iex', 'set debuginfod enabled off',
                '-iex', 'set auto-load off',
                '-iex', 'set backtrace past-main on', '-iex', 'set backtrace past-entry on', '-p', str(pid), '-ex', 'python\n' + GDB])
    return {int(m.group(1)): [int(x, 16) for x in m.group(2).split()]
            for m in re.finditer(r'^STACK (\d+) (.*)$', text, re.M)}


def stopped(pid):
    """All its threads stand still; within a few seconds or never."""
    for _ in range(200):
        states = set()
        for tid in os.listdir('/proc/%d/task' % pid):
            with open('/proc/%d/task/%s/stat' % (pid, tid)) as f:
                states.add(f.read().rpartition(')')[2].split()[0])
        if states <= set('Tt'):
            return
        time.sleep(0.02)


def take(pid, others):
    """ours and {name: {tid: [pc]}} of the same moment."""
    os.kill(pid, signal.SIGSTOP)
    try:
        stopped(pid)
        return ours(pid), {other.__name__: other(pid) for other in others}
    finally:
        os.kill(pid, signal.SIGCONT)


def native(frames):
    """How many frames, from the innermost, can be compared: the first of code made at run
    time is the last of them."""
    for i, f in enumerate(frames):
        if f.how.endswith('-fp'):
            return i + 1
    return len(frames)


def same(stack, pcs):
    """All frames, or as many as are native."""
    mine = [f.pc for f in stack.frames]
    cnt = native(stack.frames)
    guessed = cnt and stack.frames[cnt - 1].how.endswith('-fp')
    return mine[:cnt] == pcs[:cnt] if guessed else mine == pcs


def show(tid, stack, pcs):
    print('thread %d: %s' % (tid, stack.end))
    for i in range(max(len(stack.frames), len(pcs))):
        f = stack.frames[i] if i < len(stack.frames) else None
        pc = '%#x' % pcs[i] if i < len(pcs) else '-'
        print('  %s %-18s %-18s %s' % (' ' if f and i < len(pcs) and f.pc == pcs[i] else '!',
                                       '%#x' % f.pc if f else '-', pc,
                                       '%s %s' % (f.how, f.where) if f else ''))


def compare(pid, other=eu_stack, tell=None):
    """Result for one process; tell(tid, stack, pcs) for each stack that differs."""
    mine, theirs = take(pid, [other])
    theirs = theirs[other.__name__]
    equal = frames = cut = 0
    differ = []
    for tid, stack in sorted(mine.items()):
        pcs = theirs.get(tid, [])
        cnt = native(stack.frames)
        frames += cnt
        cut += cnt < len(stack.frames) or stack.end != 'outermost'
        if same(stack, pcs):
            equal += 1
        else:
            differ.append((tid, stack, pcs))
            if tell:
                tell(tid, stack, pcs)
    return Result(len(mine), equal, frames, cut, differ)


def main():
    args = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    args.add_argument('-v', action='store_true', help='show the stacks that differ')
    args.add_argument('--gdb', action='store_true', help='against gdb, not eu-stack')
    args.add_argument('pid', nargs='+', type=int)
    opts = args.parse_args()
    differ = 0
    for pid in opts.pid:
        r = compare(pid, gdb if opts.gdb else eu_stack, show if opts.v else None)
        print('%d: %d threads, %d equal, %d frames, %d not to the end' %
              (pid, r.threads, r.equal, r.frames, r.cut))
        differ += len(r.differ)
    sys.exit(1 if differ else 0)


if __name__ == '__main__':
    main()
