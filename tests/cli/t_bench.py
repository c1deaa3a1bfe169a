# SPDX-License-Identifier: Apache-2.0
"""The measuring scripts of bench/: that they run, and judge stacks rightly."""
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "bench"), os.path.join(TOP, "tests", "eval")]

import pairs  # noqa: E402
import reach  # noqa: E402
import walkcost  # noqa: E402


def bench(*argv):
    return subprocess.run([sys.executable, os.path.join(TOP, "bench", argv[0]), *argv[1:]],
                          capture_output=True, text=True, timeout=30)


def test_bench_lists_its_servers():
    for script in ("cost", "programs", "stacks"):
        done = bench(script, "--list")
        assert done.returncode == 0, done.stderr
        assert "redis-get" in done.stdout and "pg-tpcb" in done.stdout, done.stdout


def test_bench_refuses_unknown_names():
    for argv in (("programs", "--only", "x"), ("scale", "--only", "x"), ("soak", "--only", "x"),
                 ("cost", "--only", "x"), ("stacks", "--only", "x"), ("stacks", "--part", "x")):
        done = bench(*argv)
        assert done.returncode == 2 and "no " in done.stderr, done


class Starts(reach.Starts):
    def __init__(self):
        self.addrs, self.offsets, self.places = {0x5610}, {("/bin/s", 0x610)}, {("/bin/s", 0x610)}


PERF = """
\tffffffff8200ff2a tcp_recvmsg+0x6e ([kernel.kallsyms])
\t           f82ec read+0x4c (/lib/libc.so.6)
\t             60f [unknown] (/bin/s)

\t           f82ec operator()(int) const+0x4c (/lib/libc.so.6)

\tffffffff8200ff2a tcp_recvmsg+0x6e ([kernel.kallsyms])
"""


def test_bench_judges_stacks_of_perf():
    found = reach.of_perf_script(PERF, Starts())
    assert (found.stack_cnt, found.reached_cnt, found.frame_cnt) == (3, 1, 3), vars(found)


BPFTRACE = """Attaching 2 probes...


@off[
\t7f01 f<int [2]>(char)+5 (/lib/libc.so.6)
\t5610 _start+33 (/bin/s)
]: 7
@on[]: 2
@on[
\t5610 _start+33 (/bin/s)
\t7f01 read+5 (/lib/libc.so.6)
]: 3
"""


def test_bench_judges_stacks_of_bpftrace():
    found = reach.of_bpftrace(BPFTRACE, Starts())
    on, off = found["on"], found["off"]
    assert (off.stack_cnt, off.reached_cnt, off.frame_cnt) == (7, 7, 14), vars(off)
    assert (on.stack_cnt, on.reached_cnt, on.frame_cnt) == (5, 0, 6), vars(on)


WATCH = """module 1 0 600 /bin/s
module 2 0 0 /lib/libc.so.6
stack 1 11 10 1 2:20 1:10 k:ffffffff81000000
stack 2 11 10 4 2:20
stack 3 99 98 1 2:20 1:10
wait 11 1 2 3 4 5 6 7 8 9 a 1 2 1 3
wait 11 1 2 3 4 5 6 7 8 9 a 1 2 0 0
wait 99 1 2 3 4 5 6 7 8 9 a 1 2 3 1
sample 11 10 2
sample 99 98 3
"""


def test_bench_judges_stacks_of_heldup():
    members = reach.Members(10)
    members.pids, members.tids = {10}, {11}
    found = reach.Watched(WATCH, Starts(), members)
    seen = [(r.event_cnt, r.stack_cnt, r.reached_cnt) for r in (found.on, found.off, found.waker)]
    assert seen == [(1, 1, 0), (2, 1, 1), (1, 1, 1)], seen


def test_bench_changes_the_order_of_runs():
    orders = {tuple(pairs.order_of(["a", "b", "c"], turn)) for turn in range(6)}
    assert len(orders) == 6, orders


def test_bench_fits_a_line():
    fixed, slope = walkcost.fit([1, 2, 3], [110, 120, 130])
    assert abs(fixed - 100) < 1e-6 and abs(slope - 10) < 1e-6, (fixed, slope)
