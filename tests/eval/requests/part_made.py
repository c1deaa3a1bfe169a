# SPDX-License-Identifier: Apache-2.0
"""Made requests: what recorded ones do not hold, with a truth that is known."""
import os
import tempfile

from requests import made
from requests.replayed import OURS, Sums, Trouble, replay

ABOUT = 'requests of a made application with a known problem'
GOOD, BAD = 400, 800     # the bad ones are shown once, 50 in a round
SEEDS = (1, 2, 3, 4, 5)
MS = 1_000_000


def queue(rnd, _request):
    """A semaphore: each who waits in it takes a while; the length is noted."""
    length = min(int(rnd.expovariate(1 / 3)), 20)
    return length * 5 * MS, length


def uniform(rnd, _request):
    return rnd.uniform(0, 40 * MS)


def shared(rnd, request):
    """The same delay for all that ask in one request."""
    return request.common.setdefault('shared', rnd.uniform(0, 30 * MS))


def constant(_rnd, _request):
    return 25 * MS


class Case:
    """slow(app) -> problems; mangle(requests, seed): on their way."""

    def __init__(self, name, slow, mangle=None, ops=60):
        self.name, self.slow, self.mangle, self.ops = name, slow, mangle, ops


def one(app, n=0):
    """An operation in each request, from the middle of the list so that it is no special one."""
    leaves = app.leaves()
    return leaves[(len(leaves) // 2 + n) % len(leaves)]


CASES = (
    Case('semaphore, length a key', lambda a: [made.Slow(one(a), queue, 'queue.length')]),
    Case('uniform', lambda a: [made.Slow(one(a), uniform)]),
    Case('inner operation', lambda a: [made.Slow(a.always()[len(a.always()) // 2], uniform)]),
    Case('two at once', lambda a: [made.Slow(one(a), uniform), made.Slow(one(a, 1), uniform)]),
    Case('correlated edges', lambda a: [made.Slow(one(a), shared), made.Slow(one(a, 1), shared)]),
    Case('consistently slow', lambda a: [made.Slow(one(a), constant)]),
    Case('skewed clocks', lambda a: [made.Slow(one(a), uniform)],
         lambda reqs, seed: made.skew(reqs, 50 * MS, seed)),
    Case('lost spans', lambda a: [made.Slow(one(a), uniform)],
         lambda reqs, seed: made.lose(reqs, 0.05, seed)),
    Case('parts not joined', lambda a: [made.Slow(one(a), uniform)],
         lambda reqs, seed: made.unjoin(reqs, 0.05, seed)),
    Case('large application', lambda a: [made.Slow(one(a), uniform)], ops=250),
    Case('sound', lambda a: []),
)


def good_requests(folder, case, seed):
    """The same application's without a problem; kept for the cases that share it."""
    path = os.path.join(folder, 'good-%d-%d-%s.json' % (case.ops, seed, case.mangle and case.name))
    if not os.path.exists(path):
        good = made.requests(made.App(seed, case.ops), GOOD, seed * 1000)
        if case.mangle:
            case.mangle(good, seed)
        made.write(good, path)
    return path


def make(case, seed, folder):
    """The problems, and the paths of good and bad requests; those are kept until the next."""
    app = made.App(seed, case.ops)
    problems = case.slow(app)
    bad = made.requests(app, BAD, seed * 1000 + 1, problems)
    if case.mangle:
        case.mangle(bad, seed)
    path = os.path.join(folder, 'bad.json')
    made.write(bad, path)
    return problems, good_requests(folder, case, seed), path


def run_case(opts, case, seed, folder):
    """What was to be found, and what heldup found."""
    problems, good, bad = make(case, seed, folder)
    doc = replay(opts, [bad], '--learn', good)
    return sorted({p.op.point for p in problems}), doc


def judge(truths, strategy):
    """Sets what replay itself cannot know: the traces came with their problem."""
    owners = []
    for e in strategy['located']:
        if e['owner'] not in owners:
            owners.append(e['owner'])
    strategy['right'] = set(owners[:len(truths)]) == set(truths)
    if not truths:
        strategy['right'] = not owners
    strategy['truths'] = [{'round': e['round']} for e in strategy['located']
                          if e['owner'] in truths]
    return owners[:3]


def evaluate(opts, say):
    say(Sums.head())
    with tempfile.TemporaryDirectory(prefix='heldup-eval-') as folder:
        return evaluate_in(folder, opts, say)


def evaluate_in(folder, opts, say):
    right = total = broken = 0
    for case in CASES:
        sums = Sums()
        for seed in SEEDS:
            try:
                truths, doc = run_case(opts, case, seed, folder)
            except Trouble as e:
                say('%s: %s' % (case.name, e))
                broken += 1
                continue
            for s in doc['strategies']:
                found = judge(truths, s)
                if opts.show and s['strategy'] == OURS and not s['right']:
                    say('wrong: %s, seed %d: %s: found %s' % (case.name, seed, truths, found))
            sums.add(doc)
        for line in sums.lines(case.name):
            say(line)
        r, t = sums.count(OURS)
        right, total = right + r, total + t
    return right, total, broken
