# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/overhead.md: what watching costs, from the triples of bench/cost."""
import report
from cost_watchers import FLOOR, QUIET, RECORD, WHY, WHY_ALL

RECORD_AIM = 1.0	# percent; of why each server says its own
FLOOR_AIM = 1.5		# times what empty programs on the same hooks cost
TOLD = 4		# noise wider than so many aims tells nothing
LEAST_FLOOR = 0.5	# percent: below, a multiple of the floor is a multiple of noise

HEAD = ['server', 'watched by', 'n (dropped)', 'watched, %', 'throughput lost, %', 'middle half',
        'server CPU per request, %', 'middle half', 'with client, %', 'middle half', 'aim, %',
        'met', 'times the floor', 'own CPU, % of a core', 'RSS MiB', 'start, CPU s']


def quiet(triples, busy):
    """The triples in which others used little; all the rest where there is none."""
    return [t for t in triples if t['others'] <= busy] or triples


def middle_width(triples, key):
    values = [t[key] for t in triples]
    return report.quantile(values, 0.75) - report.quantile(values, 0.25)


def aim_of(name, server):
    if name in (WHY, WHY_ALL):
        return server['aim']
    return RECORD_AIM if name == RECORD else None


def met(triples, noise, aim):
    """Of loss and of server CPU per request: the worse median, where noise lets it be told."""
    if aim is None:
        return ''
    worst = max(report.median([t[key] for t in triples]) for key in ('loss', 'server'))
    wide = any(middle_width(noise, key) > TOLD * aim for key in ('loss', 'server')) \
        if noise else False
    return ('yes' if worst <= aim else 'no') + (' (in the noise)' if wide else '')


def times_floor(name, triples, watchers, busy):
    """How many times what its floor costs, by CPU of server and client per request."""
    floor = watchers.get(FLOOR % (WHY if name == WHY_ALL else name))
    if not floor:
        return ''
    least = report.median([t['both'] for t in quiet(floor, busy)])
    mine = report.median([t['both'] for t in triples])
    if least < LEAST_FLOOR:
        return 'floor under %.1f %%' % LEAST_FLOOR
    return '%.1f%s' % (mine / least, '' if mine <= FLOOR_AIM * least else ' (aim %.1f)' % FLOOR_AIM)


def optional(triples, key, form):
    values = [t[key] for t in triples if t.get(key) is not None]
    return form % report.median(values) if values else '-'


def row(server_name, server, name, busy):
    watchers = server['watchers']
    triples = quiet(watchers[name], busy)
    noise = quiet(watchers.get(QUIET, []), busy)
    aim = aim_of(name, server)
    figures = []
    for key in ('loss', 'server', 'both'):
        values = [t[key] for t in triples]
        figures += ['%+.1f' % report.median(values), report.middle(values)]
    return [server_name, name, '%d (%d)' % (len(triples), len(watchers[name]) - len(triples)),
            optional(triples, 'share', '%.0f'), *figures, '' if aim is None else '%.1f' % aim,
            met(triples, noise, aim), times_floor(name, triples, watchers, busy),
            optional(triples, 'cpu_percent', '%.1f'), optional(triples, 'rss_mib', '%.0f'),
            optional(triples, 'start_cpu_s', '%.2f')]


def rate_of(server, busy):
    rates = [t['rate'] for triples in server['watchers'].values() for t in quiet(triples, busy)]
    return report.median(rates) / server['request_bytes']


def short(servers, busy):
    """What misses its aim, first in the document."""
    for name, server in servers.items():
        for watcher, triples in server['watchers'].items():
            one = row(name, server, watcher, busy)
            if one[11].startswith('no'):
                yield '- %s, %s: %s %% of throughput, %s %% of CPU per request; aim %s %%%s' % (
                    name, watcher, one[4], one[6], one[10],
                    '; %s times the floor' % one[12] if one[12][:1].isdigit() else '')
            elif 'aim' in one[12]:
                yield '- %s, %s: %s times the floor' % (name, watcher, one[12])


TEXT = '''\
One load that goes on, its data in memory. A window with a watcher is compared with the mean of the
windows right before and right after it. Throughput is what the server's sockets receive; CPU per
request is the scheduler's time of all server threads (and of the load generator's) for it. n is the
number of triples in which others used at most %.2f cores; the others were made again. *%s* is the
same with no watcher at all: a figure inside its middle half is not told from none. *Empty programs*
are two instructions on each hook that heldup had while it watched: the floor of any program there.
Own CPU is the watcher's process while it watches, of one core; start is what it had used before.
The share of the time watched is what heldup says itself. bpftrace, perf and libbpf-tools run as
they come, on the server's processes, but `perf record -g -a`.
'''


def document(servers, opts):
    parts = ['# What watching costs', '']
    for machine in sorted({s['machine'] for s in servers.values()}):
        parts.append('Measured by `bench/cost` (windows of %s s) on %s.' % (', '.join(sorted(
            {'%g' % s['seconds'] for s in servers.values()})), machine))
    missed = list(short(servers, opts.busy))
    if missed:
        parts += ['', 'What falls short of its aim:', '', *missed]
    parts += ['', TEXT % (opts.busy, QUIET)]
    parts += ['%s: %.0f %s.' % (name, rate_of(server, opts.busy), server['unit'])
              for name, server in servers.items()]
    rows = [row(name, server, watcher, opts.busy) for name, server in servers.items()
            for watcher in server['watchers']]
    return '\n'.join([*parts, '', report.table(HEAD, rows), ''])
