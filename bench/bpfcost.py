# SPDX-License-Identifier: Apache-2.0
"""What heldup's BPF programs use inside the kernel, from the kernel's own count.

kernel.bpf_stats_enabled is on for this run only; it adds some 20 ns to each
run of a program, so the figure is an upper one.
"""
import json
import shutil
import subprocess
import time

import watchers
from kit import host
from kit.lab import LabError

SWITCH = '/proc/sys/kernel/bpf_stats_enabled'


def set_stats(value):
    with open(SWITCH, 'w') as f:
        f.write(value)


def bpftool(what):
    done = subprocess.run(['bpftool', '-j', what, 'show'], capture_output=True, text=True)
    if done.returncode:
        raise LabError('bpftool: ' + done.stderr.strip()[-200:])
    return json.loads(done.stdout)



def totals(progs, ids):
    rows = [p for p in progs if p['id'] in ids]
    return sum(p.get('run_time_ns', 0) for p in rows), sum(p.get('run_cnt', 0) for p in rows)


def measure(workload, opts):
    """{'percent', 'ns_per_run', 'runs_per_s', 'map_mib'}, or {} without bpftool."""
    if not shutil.which('bpftool', path=host.PATH):
        return {}
    with open(SWITCH) as f:
        before = f.read().strip()
    known = {p['id'] for p in bpftool('prog')}
    maps = {m['id'] for m in bpftool('map')}
    set_stats('1')
    try:
        heldup = watchers.Heldup(opts.heldup)
        heldup.begin(workload, opts.seconds)
        # What appeared while heldup attached is its own; other BPF users that
        # start in this moment would be counted too.
        ids = {p['id'] for p in bpftool('prog')} - known
        mapped = sum(m.get('bytes_memlock', 0) for m in bpftool('map') if m['id'] not in maps)
        t0, (ns0, runs0) = time.monotonic(), totals(bpftool('prog'), ids)
        rate = workload.run(opts.seconds)
        t1, (ns1, runs1) = time.monotonic(), totals(bpftool('prog'), ids)
        heldup.end()
    finally:
        set_stats(before)
    runs, span_ns = max(runs1 - runs0, 1), (t1 - t0) * 1e9
    return {'percent': 100 * (ns1 - ns0) / span_ns, 'ns_per_run': (ns1 - ns0) / runs,
            'runs_per_s': runs * 1e9 / span_ns, 'map_mib': mapped / 1048576,
            'ns_per_switch': (ns1 - ns0) / max(rate * (t1 - t0), 1)}
