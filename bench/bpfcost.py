# SPDX-License-Identifier: Apache-2.0
"""What heldup's BPF programs use inside the kernel, from the kernel's own count.

The figures come from the fdinfo of the programs and maps that heldup holds
open, so other users of BPF do not matter.  kernel.bpf_stats_enabled is on for
this run only; it adds some 20 ns to each run of a program: an upper figure.
"""
import os
import time

import watchers

SWITCH = '/proc/sys/kernel/bpf_stats_enabled'


def set_stats(value):
    with open(SWITCH, 'w') as f:
        f.write(value)


def fd_infos(pid):
    """What the kernel says of each descriptor of a process."""
    folder = '/proc/%d/fdinfo' % pid
    for fd in os.listdir(folder):
        try:
            with open(os.path.join(folder, fd)) as f:
                yield dict(line.split(':', 1) for line in f if ':' in line)
        except FileNotFoundError:
            continue


def fd_sums(pid):
    """{'run_time_ns', 'run_cnt', 'memlock'} over the BPF objects of a process."""
    sums = {'run_time_ns': 0, 'run_cnt': 0, 'memlock': 0}
    seen = set()
    for info in fd_infos(pid):
        # A link names its program too; only the program has the counters.
        which = 'map' if 'map_id' in info else 'prog' if 'run_cnt' in info else ''
        key = (which, (info.get('map_id') or info.get('prog_id') or '').strip())
        if not which or key in seen:
            continue
        seen.add(key)
        for name in sums:
            if name in info and (name != 'memlock' or which == 'map'):
                sums[name] += int(info[name])
    return sums


def measure(workload, opts):
    """{'percent', 'ns_per_run', 'ns_per_switch', 'map_mib'}"""
    with open(SWITCH) as f:
        before = f.read().strip()
    set_stats('1')
    try:
        heldup = watchers.Heldup(opts.heldup)
        heldup.begin(workload, opts.seconds)
        pid = heldup.proc.pid
        t0, first = time.monotonic(), fd_sums(pid)
        rate = workload.run(opts.seconds)
        t1, last = time.monotonic(), fd_sums(pid)
        heldup.end()
    finally:
        set_stats(before)
    used_ns = last['run_time_ns'] - first['run_time_ns']
    runs = max(last['run_cnt'] - first['run_cnt'], 1)
    return {'percent': 100 * used_ns / ((t1 - t0) * 1e9), 'ns_per_run': used_ns / runs,
            'ns_per_switch': used_ns / max(rate * (t1 - t0), 1),
            'map_mib': last['memlock'] / 1048576}
