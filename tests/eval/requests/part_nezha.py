# SPDX-License-Identifier: Apache-2.0
"""The 45 faults of Nezha's Train Ticket: is the service that was made faulty an
end of the edges that `heldup requests` ranks first, and is it the one service that it blames?

Each fault has three minutes of spans, from the minute of the injection on, and
each day one minute without faults.  Beside heldup's ranking stand three simple
rules, worked out here from the same spans: an edge's share of the variance
(covariance with the total), how much its mean rose over the good minute, and
the same for the time in which a span's own service ran and no child of it.

Delays and CPU faults count as right when they are among the first three.
Faults in the code (a method that returns early or throws) mostly leave neither
other spans nor other times: they are shown and do not count.
"""
import collections
import csv
import datetime
import json
import os
import re
import subprocess
import tarfile
import tempfile

from requests import shared

ABOUT = "the faulty service is an end of the first edges (Nezha's Train Ticket)"

SLOW = ('cpu_contention', 'network_delay')
TYPES = SLOW + ('return', 'exception')
DAYS = ('2023-01-29', '2023-01-30')
MINUTES = 3
FIRST = (1, 3, 5)
NEVER = 10 ** 9


def service(pod):
    """A pod's name without what Kubernetes appends."""
    return re.sub(r'-[0-9a-f]{7,10}-[0-9a-z]{5}$', '', pod)


# ---- the data

def faults(folder):
    found = []
    for day in DAYS:
        with open(os.path.join(folder, 'faults-%s.json' % day), encoding='utf-8') as f:
            for hour in json.load(f).values():
                found += [dict(fault, day=day) for fault in hour]
    return found


def files_of(spans, fault):
    begin = datetime.datetime.fromisoformat(fault['inject_time'])
    return [os.path.join(spans, fault['day'], (begin + datetime.timedelta(minutes=i))
                         .strftime('%H_%M_trace.csv')) for i in range(MINUTES)]


class Span:
    __slots__ = ('parent', 'point', 'begin', 'end', 'children')


def read(path, known={}):
    """Roots of the traces in a file."""
    if path in known:
        return known[path]
    traces = collections.defaultdict(dict)
    with open(path, newline='', encoding='utf-8') as f:
        for row in csv.DictReader(f):
            s = Span()
            s.parent, s.children = row['ParentID'], []
            s.point = service(row['PodName']), row['OperationName']
            s.begin, s.end = int(row['StartTimeUnixNano']), int(row['EndTimeUnixNano'])
            traces[row['TraceID']][row['SpanID']] = s
    known[path] = []
    for spans in traces.values():
        roots = []
        for s in spans.values():
            if s.parent in spans and spans[s.parent] is not s:
                spans[s.parent].children.append(s)
            else:
                roots.append(s)
        known[path].append(min(roots, key=lambda s: (s.parent != 'root', s.begin)))
    return known[path]


def walk(span, until, steps):
    """The critical path backwards: (span, is its end, when)."""
    at = min(span.end, until)
    steps.append((span, 1, at))
    for child in sorted(span.children, key=lambda c: (-c.end, -c.begin)):
        if child.begin < at and child.end <= at + 2000000:
            at = walk(child, min(child.end, at), steps)
    begin = min(span.begin, at)
    steps.append((span, 0, begin))
    return begin


def edges(root):
    """[((point, end), (point, end)), ns] of the critical path of a request."""
    steps = []
    walk(root, root.end, steps)
    steps.reverse()
    return [(((a[0].point, a[1]), (b[0].point, b[1])), b[2] - a[2])
            for a, b in zip(steps, steps[1:])]


# ---- the simple rules: each gives services' pairs, worst first

def by_covariance(bad, good):
    del good
    sums = collections.Counter()
    mean = sum(r.end - r.begin for r in bad) / len(bad)
    for root in bad:
        for edge, ns in edges(root):
            sums[edge] += ns * (root.end - root.begin - mean)
    return [(e[0][0][0], e[1][0][0]) for e, _ in sums.most_common()]


def means(roots):
    sums = collections.Counter()
    for root in roots:
        for edge, ns in edges(root):
            sums[edge] += ns / len(roots)
    return sums


def by_shift(bad, good):
    rise, usual = means(bad), means(good)
    return [(e[0][0][0], e[1][0][0]) for e, _ in
            sorted(((e, rise[e] - usual[e]) for e in rise), key=lambda x: -x[1])]


def own_times(roots):
    sums = collections.Counter()

    def add(span):
        inside = sum(min(c.end, span.end) - max(c.begin, span.begin) for c in span.children)
        sums[span.point] += max(0, span.end - span.begin - inside) / len(roots)
        for child in span.children:
            add(child)
    for root in roots:
        add(root)
    return sums


def by_own_time(bad, good):
    rise, usual = own_times(bad), own_times(good) if good else collections.Counter()
    return [(p[0], p[0]) for p, _ in
            sorted(((p, rise[p] - usual[p]) for p in rise), key=lambda x: -x[1])]


# ---- judging

def ranked(heldup, bad, good):
    """The ends of the edges to blame, and the service to blame, as an edge with itself."""
    command = [heldup, 'requests', '--json'] + (['--diff', good] if good else []) + bad
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    doc = json.loads(done.stdout)
    return ([(e['from']['service'], e['to']['service']) for e in doc['edges_to_blame']],
            [(s['service'], s['service']) for s in doc['services_to_blame']])


def rank_of(wanted, pairs):
    return next((i for i, pair in enumerate(pairs) if wanted in pair), NEVER)


def table(say, ranks, kinds):
    say('%-24s %-8s %s' % ('', 'against', ' '.join('%18s' % k for k in kinds)))
    for (rule, against), found in ranks.items():
        cells = []
        for kind in kinds:
            mine = [r for k, r in found if k == kind]
            cells.append('%18s' % ('/'.join(str(sum(r < n for r in mine)) for n in FIRST) +
                                   ' of %d' % len(mine)))
        say('%-24s %-8s %s' % (rule, against, ' '.join(cells)))


def evaluate(opts, say):
    base = shared()
    folder = base and os.path.join(base, 'nezha-train-ticket')
    if not folder or not os.path.isdir(folder):
        say('SKIPPED: ../shared/data/traces/nezha-train-ticket is missing')
        return 0, 0, 0
    ranks = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as spans:
        with tarfile.open(os.path.join(folder, 'traces.tar.xz')) as packed:
            # only what is a file with a plain path: extractall's own filter came after 3.11.2
            packed.extractall(spans, [m for m in packed.getmembers() if m.isreg() and not (
                m.name.startswith('/') or '..' in m.name.split('/'))])
        for fault in faults(folder):
            wanted, kind = service(fault['inject_pod']), fault['inject_type']
            bad, good = files_of(spans, fault), os.path.join(
                spans, 'baseline-%s.csv' % fault['day'])
            roots, usual = [r for path in bad for r in read(path)], read(good)
            edges_good, services_good = ranked(opts.heldup, bad, good)
            edges_itself, services_itself = ranked(opts.heldup, bad, None)
            for rule, against, pairs in (
                    ('heldup', 'good', edges_good), ('heldup', 'itself', edges_itself),
                    ('heldup, one service', 'good', services_good),
                    ('heldup, one service', 'itself', services_itself),
                    ('share of variance', 'itself', by_covariance(roots, None)),
                    ('mean shift', 'good', by_shift(roots, usual)),
                    ('own time of spans', 'good', by_own_time(roots, usual)),
                    ('own time of spans', 'itself', by_own_time(roots, None))):
                ranks[rule, against].append((kind, rank_of(wanted, pairs)))
    say('faults whose service is an end of the first %d/%d/%d edges' % FIRST)
    table(say, ranks, TYPES)
    judged = [r for rule, found in ranks.items() if rule[0] == 'heldup'
              for kind, r in found if kind in SLOW]
    return sum(r < 3 for r in judged), len(judged), 0
