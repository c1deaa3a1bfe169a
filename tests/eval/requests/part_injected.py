# SPDX-License-Identifier: Apache-2.0
"""Delays put into recorded requests, at each tracepoint in turn."""
import os

import requests
from requests import best
from requests.replayed import OURS, PAPERS, Sums, Trouble, replay

ABOUT = 'delays in recorded requests at each tracepoint, found by what is switched on'
WHOLE = ('--whole-spans', '--strategy', ','.join((OURS, *PAPERS)))
FILES = ('hotel', 'media', 'node')
AIM_RIGHT, AIM_SHARE = 0.95, 0.10


def laws(points, i):
    """(name, injections) for the ith tracepoint.

    Delays are of the size of a request: the paper's are more (0 to 20 s on requests of some
    seconds), what a person complains of is less often so.
    """
    point = points[i]
    other = points[(i + len(points) // 2) % len(points)]
    yield 'uniform', ['%s:uniform,3x' % point]
    yield 'constant', ['%s:constant,1x' % point]
    yield 'by key', ['%s:queue,0.3x' % point]
    yield 'two at once', ['%s:uniform,3x' % point, '%s:uniform,3x' % other]
    yield 'correlated', ['%s:uniform,3x,with=1' % point, '%s:uniform,3x,with=1' % other]


def evaluate(opts, say):
    folder = requests.shared()
    if not folder:
        say('SKIPPED: ../shared/data/traces is not there')
        return 0, 0, 0
    total, whole, sums, broken, least = Sums(), Sums(), {}, 0, []
    for name in FILES:
        path = os.path.join(folder, name + '-load150.jaeger.json.gz')
        known = replay(opts, [path], '--strategy', 'all-on')['points']
        points = [p['name'] for p in known]
        least += fewest(path, name, known)
        for i in range(len(points)):
            for law, injections in laws(points, i):
                more = [a for text in injections for a in ('--inject', text)]
                try:
                    doc = replay(opts, [path], *more)
                    whole.add(replay(opts, [path], *more, *WHOLE))
                except Trouble as e:
                    say(str(e))
                    broken += 1
                    continue
                sums.setdefault((name, law), Sums()).add(doc)
                report_wrong(opts, doc, name, law, injections, say)
    say(Sums.head())
    for (name, law), s in sums.items():
        total.merge(s)
        for line in s.lines('%s, %s' % (name, law)):
            say(line)
    for line in total.lines('all'):
        say(line)
    for line in whole.lines('all, whole spans'):
        say(line)
    for line in least:
        say(line)
    return judge(total, say) + (broken,)


def fewest(path, name, known):
    """Lines: with how few tracepoints any search for one slow operation must do on average."""
    always = [p['name'] for p in known if p['always_on']]
    apart, together = best.tracepoints(path, always), best.spans(path, always)
    if apart is None:
        return []
    return ['%s: no search for one slow operation can do with fewer than %.2f of %d tracepoints '
            'on average, or %.2f of %d whole spans' % (name, apart, 2 * len(known), together,
                                                       len(known))]


def report_wrong(opts, doc, name, law, injections, say):
    if not opts.show:
        return
    for s in doc['strategies']:
        if s['strategy'] == OURS and not s['right']:
            found = [(e['owner'], round(e['share'], 2)) for e in s['located'][:3]]
            say('wrong: %s, %s: %s: found %s' % (name, law, ' and '.join(injections), found))


def judge(total, say):
    right, cnt = total.count(OURS)
    say('aims: %s localises at least %.0f %%: %.1f %%; with at most %.0f %% of the tracepoints:' %
        (OURS, 100 * AIM_RIGHT, 100 * right / max(1, cnt), 100 * AIM_SHARE))
    for strategy in (OURS, *PAPERS):
        say('    %-13s %5.1f %% on average, %5.1f %% of all there were' % (
            strategy, 100 * total.mean(strategy, 1), 100 * total.pooled_share(strategy)))
    return right, cnt
