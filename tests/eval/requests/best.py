# SPDX-License-Identifier: Apache-2.0
"""How few tracepoints any search could do with, where one operation after another runs.

Whoever does not know which operation is slow can only split the edge that the
delay is in, by a span's begin or end, or by both at once where spans are switched
whole.  The best tree of such splits, over a delay at the entry of each
operation with equal chance, needs so many tracepoints on average: no rule can
need fewer.  Only for requests without concurrency, where the order is the path.
"""
import functools
import gzip
import json


def events(path):
    """[(tracepoint, 'begin' or 'end')] of the first request, or None: something runs beside."""
    with gzip.open(path) as f:
        trace = json.load(f)['data'][0]
    spans = {s['spanID']: s for s in trace['spans']}
    kids, root = {}, None
    for s in spans.values():
        parent = s['references'][0]['spanID'] if s['references'] else None
        root = s if parent is None else root
        kids.setdefault(parent, []).append(s)
    found = []

    def walk(s):
        point = '%s %s' % (trace['processes'][s['processID']]['serviceName'], s['operationName'])
        found.append((point, 'begin'))
        below = sorted(kids.get(s['spanID'], []), key=lambda c: c['startTime'])
        for a, b in zip(below, below[1:]):
            if a['startTime'] + a['duration'] > b['startTime']:
                raise ValueError
        for c in below:
            walk(c)
        found.append((point, 'end'))
    try:
        walk(root)
    except ValueError:
        return None
    return found


def tracepoints(path, always):
    """The mean of the best tree; None where it cannot be said.  always: points that are on."""
    return least(path, always, lambda event: event)


def spans(path, always):
    return least(path, always, lambda event: event[0])


def least(path, always, switch):
    """switch: of an event (point, kind) what is switched to see it."""
    seq = events(path)
    if not seq or len({p for p, _ in seq}) * 2 != len(seq):
        return None
    places, truths = {}, set()
    for i, (point, kind) in enumerate(seq):
        places.setdefault(switch((point, kind)), []).append(i)
        if kind == 'begin':
            truths.add(i)           # a delay at an entry is in the edge after it

    def cut(i, j, inside):
        ends = [i] + sorted(inside) + [j]
        return list(zip(ends, ends[1:]))

    @functools.lru_cache(None)
    def cost(i, j):
        """Summed over the truths in the edge from event i to event j."""
        weight = sum(1 for t in truths if i <= t < j)
        if not weight or j == i + 1:
            return 0
        ways = [[p for p in where if i < p < j] for where in places.values()]
        return weight + min(sum(cost(a, b) for a, b in cut(i, j, w)) for w in ways if w)

    start = {i for i, (point, _) in enumerate(seq) if point in always} | {0, len(seq) - 1}
    edges = sorted(start)
    return sum(cost(a, b) for a, b in zip(edges, edges[1:])) / len(truths)
