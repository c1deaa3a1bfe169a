# SPDX-License-Identifier: Apache-2.0
"""What a process holds of BPF, from the fdinfo of its descriptors: hooks, programs, maps.

So other users of BPF on the machine do not matter.
"""
import os

SWITCH = '/proc/sys/kernel/bpf_stats_enabled'
NOT_EVENTS = ('iter', 'perf')	# run when asked, and by the clock


def fd_infos(pid):
    """What the kernel says of each descriptor of a process."""
    folder = '/proc/%d/fdinfo' % pid
    for fd in os.listdir(folder):
        try:
            with open(os.path.join(folder, fd)) as f:
                yield {k: v.strip() for k, v in
                       (line.split(':', 1) for line in f if ':' in line)}
        except FileNotFoundError:
            continue


def attached(pid):
    """(['raw_tp:NAME'...], [kinds of links that are not known here]) of a process."""
    found, unknown = set(), set()
    for info in fd_infos(pid):
        kind = info.get('link_type', '')
        if kind == 'raw_tracepoint' and 'tp_name' in info:
            found.add('raw_tp:' + info['tp_name'])
        elif kind and kind not in NOT_EVENTS:
            unknown.add(kind)
    return sorted(found), sorted(unknown)


def programs(pid):
    """{program id: (runs, ns)}; ns only while kernel.bpf_stats_enabled is on."""
    return {int(i['prog_id']): (int(i['run_cnt']), int(i['run_time_ns']))
            for i in fd_infos(pid) if 'run_cnt' in i and 'prog_id' in i}


def map_bytes(pid):
    """Memory of the maps of a process."""
    maps = {i['map_id']: int(i['memlock']) for i in fd_infos(pid)
            if 'map_id' in i and 'memlock' in i and 'map_type' in i}
    return sum(maps.values())


class Timed:
    """kernel.bpf_stats_enabled while it lasts; it adds some 20 ns to each run of a program."""

    def __enter__(self):
        with open(SWITCH) as f:
            self.before = f.read().strip()
        self.put('1')

    def __exit__(self, *_exc):
        self.put(self.before)

    @staticmethod
    def put(value):
        with open(SWITCH, 'w') as f:
            f.write(value)
