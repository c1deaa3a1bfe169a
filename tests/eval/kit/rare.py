# SPDX-License-Identifier: Apache-2.0
"""The label `rare`: stalls of 100-500 ms once in some seconds, under full load.

A server is started once and watched --runs times, with the options a person
would use: none.  A problem is right when at least nine of ten watches name it, in
the headline or in a stall of the tail: an acceptable class, and the holder or
the function.  A sound server is right when no watch names anything.

That the stall is there, and is not in the sound server, is asserted by a probe: a
client of its own that knows nothing of heldup.  A watch in which the probe saw
something else is made again, and one of a sound server that blames processes
which are not the harness's.
"""
import collections
import json
import math
import os
import re
import sys
import time

from . import host, lab as labs, load, servers, watch
from .case import CLOSED_LOOP, Case
from .lab import LabError

PROBE = os.path.join(servers.BIN, 'probe.py')
SHARE = 0.9		# of the watches that must name the stall
SOUND_MS = 60		# a sound server's longest answer: more than half of the shortest stall is none
FEW = 0.6		# of the stalls that are due in a watch: it may begin in the middle of one
WATCH_S = 10


class Rare:
    """What is true of a rare problem.

    One of the regular expressions culprit ('comm/pid'), function and resource must match.
    """

    def __init__(self, *classes, stall_ms, every_s, culprit=None, function=None, resource=None):
        self.classes = classes
        self.stall_ms, self.every_s = stall_ms, every_s
        self.culprit, self.function, self.resource = culprit, function, resource

    def label(self):
        names = [t for t in (self.culprit, self.function, self.resource) if t]
        return '%d ms in %g s: %s, %s' % (self.stall_ms, self.every_s, '|'.join(self.classes),
                                          ' or '.join(names))

    def judge(self, doc):
        """('headline' or 'tail' where it is named, else None; why not)."""
        why_not = self.wrong(doc.get('verdict') or {}, doc.get('chain') or ())
        if not why_not:
            return 'headline', ''
        for stall in (doc.get('tail') or {}).get('stalls') or ():
            why = self.wrong(stall, stall.get('chain') or ())
            if not why and stall.get('max_ns', 0) < self.stall_ms * 5e5:
                why = 'length'	# other stalls, half as long at most
            if not why:
                return 'tail', ''
            why_not = 'tail: ' + why
        return None, why_not

    def wrong(self, given, chain):
        if given.get('class') not in self.classes:
            return 'class %s' % given.get('class')
        if self.matches(self.culprit, parties(given, chain)) or \
                self.matches(self.function, functions(given, chain)) or \
                self.matches(self.resource, resources(given)):
            return ''
        return '%s, but of %s' % (given.get('class'), ', '.join(
            [*parties(given, ()), *functions(given, chain)][:4]) or 'nobody')

    @staticmethod
    def matches(pattern, texts):
        return bool(pattern) and any(re.search(pattern, t) for t in texts)


def party(who):
    return '%s/%s' % (who.get('comm') or '', who.get('pid') or '')


def parties(given, chain):
    """The culprit, then whoever ended a step of the chain."""
    found = [party(given.get('culprit') or {})]
    for step in chain:
        found += [party(f) for f in step.get('functions') or () if f.get('what') == 'ended']
    return [name for name in found if name != '/']


def functions(given, chain):
    found = [given.get('function')]
    for step in chain:
        for fn in step.get('functions') or ():
            found += [frame.get('name') for frame in fn.get('frames') or ()]
    return [name for name in found if name]


def resources(given):
    resource = given.get('resource') or {}
    return [str(resource.get('name') or ''), str(given.get('summary') or '')]


def named_of(doc):
    """All that a sound server's answer names: [(where, the finding)].

    In closed loop the server or the generator fills its core: that is no stall.
    """
    stalls = (doc.get('tail') or {}).get('stalls') or ()
    given = [doc.get('verdict') or {}, *(doc.get('findings') or ())]
    return [('tail: ', stall) for stall in stalls] + \
        [('', f) for f in given if f.get('class') not in CLOSED_LOOP.classes]


def judge_sound(doc):
    """What a sound server's answer names, '' for nothing."""
    return ', '.join(dict.fromkeys(
        '%s%s of %s' % (where, given.get('class'), party(given.get('culprit') or {}))
        for where, given in named_of(doc)))


def blames_others(doc, ours):
    """It names a neighbour that is none of the harness's processes: maybe true."""
    pids = [(given.get('culprit') or {}).get('pid') for _, given in named_of(doc)
            if str(given.get('class')).endswith('-neighbour')]
    return any(pid not in ours for pid in pids)


class Probe:
    """bin/probe.py beside the load: what one client sees of the server."""

    def __init__(self, lab, proto, port, limit_ms, ask=None):
        self.log, self.limit_ms = lab.path('probe-%d.txt' % len(lab.procs)), limit_ms
        self.proc = lab.spawn([sys.executable, PROBE, proto, '127.0.0.1:%d' % port,
                               '--log', self.log, *(['--ask', ask] if ask else [])],
                              cpu=host.cpu_for_load(), nice=-15)

    def stop(self):
        self.proc.stop()

    def answers_ms(self, t0, t1):
        """(sorted, how many failed); an answer that began in the span counts to it."""
        with open(self.log) as f:
            rows = [line.split() for line in f]
        times = [int(r[1]) / 1000 for r in rows if len(r) == 2
                 and t0 <= float(r[0]) - int(r[1]) / 1e6 and float(r[0]) <= t1]
        good = sorted(ms for ms in times if ms >= 0)
        if not good:
            raise LabError('the probe got no answers: ' + self.proc.text()[-200:])
        return good, len(times) - len(good)

    def measure(self, t0, t1):
        times, failed = self.answers_ms(t0, t1)
        return {'p50 ms': load.quantile(times, 0.5), 'p99.9 ms': load.quantile(times, 0.999),
                'max ms': times[-1], 'stalls': sum(ms >= self.limit_ms for ms in times),
                'failed': failed}


class RareCase(Case):
    """A case with one truth; healthy is the same server under the same load without it."""

    labels = ('rare',)
    variants = ('degraded', 'healthy')
    rare = None			# Rare; setup() or load() may set it
    warm_s = 2.0

    def probe(self, proto, port, ask=None):
        limit = self.rare.stall_ms / 2 if self.degraded else SOUND_MS
        self.loads['probe'] = Probe(self.lab, proto, port, limit, ask)

    def odd(self, seen, seconds):
        """'' where the probe saw what the case says; else what it saw."""
        due = seconds / self.rare.every_s * FEW if self.degraded else 0
        many = seen['stalls'] > 0 if not self.degraded else seen['stalls'] < due
        slow = seen['p50 ms'] > (self.rare.stall_ms / 10 if self.degraded else SOUND_MS)
        if not (many or slow or seen['failed']):
            return ''
        return 'p50 %.1f ms, %d stalls, %d failures' % (seen['p50 ms'], seen['stalls'],
                                                       seen['failed'])


class Watches:
    """What the watches of one server gave."""

    def __init__(self, case):
        self.case = case
        self.where = collections.Counter()	# headline, tail, sound
        self.heads, self.whys = collections.Counter(), collections.Counter()
        self.shares, self.user, self.kernel, self.seen = [], [], [], []
        self.odd = 0

    def add(self, doc, seconds, seen):
        if self.case.degraded:
            where, why = self.case.rare.judge(doc)
        else:
            why = judge_sound(doc)
            where = None if why else 'sound'
        self.where[where] += 1
        self.heads[(doc.get('verdict') or {}).get('class')] += 1
        if why:
            self.whys[why] += 1
        window, own = doc.get('window') or {}, doc.get('self') or {}
        watched = window.get('seconds') or seconds	# what it left out comes on top
        length = watched + (window.get('rest_seconds') or 0)
        self.shares.append(watched / length)
        self.user.append(100 * (own.get('cpu_ns') or 0) / 1e9 / length)
        self.kernel.append(100 * (own.get('bpf_cores') or 0))
        self.seen.append(seen)

    def cnt(self):
        return sum(self.where.values())

    def right_cnt(self):
        return self.cnt() - self.where[None]

    def right(self, runs):
        need = math.ceil(SHARE * runs) if self.case.degraded else runs
        return self.right_cnt() >= need

    def lines(self, runs):
        what = 'named in' if self.case.degraded else 'nothing named in'
        told = ', '.join('%s %d' % (k, v) for k, v in self.where.most_common()
                         if k in ('headline', 'tail'))
        yield '%-20s %-9s %s %d of %d%s  %s' % (
            self.case.name, 'rare' if self.case.degraded else 'sound', what, self.right_cnt(),
            self.cnt(), ' (%s)' % told if told else '', 'yes' if self.right(runs) else 'no')
        yield '    watched %.0f %% (least %.0f), own cost %.1f %% of a core and %.1f in the kernel' \
            % (100 * mean(self.shares), 100 * min(self.shares), mean(self.user),
               mean(self.kernel))
        yield '    headlines: ' + counted(self.heads)
        if self.whys:
            yield '    not right: ' + counted(self.whys)
        if self.case.degraded:
            yield '    true: ' + self.case.rare.label()
        yield '    clients saw: p50 %.2f, p99.9 %.0f, max %.0f ms, %.1f stalls a watch%s' % (
            *(mean([s[k] for s in self.seen]) for k in ('p50 ms', 'p99.9 ms')),
            max(s['max ms'] for s in self.seen), mean([s['stalls'] for s in self.seen]),
            '; %d watches more were disturbed' % self.odd if self.odd else '')


def mean(values):
    return sum(values) / len(values)


def counted(counter):
    return ', '.join('%s (%d)' % pair for pair in counter.most_common())


def one_watch(opts, case, seconds):
    """(answer, what the probe saw, why the watch counts for nothing) of one watch."""
    ours = host.descendants(os.getpid())
    t0 = time.monotonic()
    doc = watch.live(opts.heldup, case.select() + opts.why.split(), seconds).doc
    t1 = time.monotonic()
    time.sleep(case.rare.stall_ms / 1000 if case.degraded else 0)	# an answer may be due
    seen = case.loads['probe'].measure(t0, t1)
    odd = case.odd(seen, t1 - t0)
    if odd:
        odd = 'the clients saw ' + odd
    elif not case.degraded and blames_others(doc, ours):
        odd = 'others used the CPU: ' + judge_sound(doc)
    return doc, seen, odd


def on_server(opts, case, seconds):
    result = Watches(case)
    while result.cnt() < opts.runs:
        doc, seen, odd = one_watch(opts, case, seconds)
        if odd and result.odd >= opts.runs + opts.retries:
            raise LabError('disturbed again and again: ' + odd)
        if odd:
            result.odd += 1
            print('    %s: again: %s' % (case.name, odd), flush=True)
            continue
        result.add(doc, seconds, seen)
        if opts.answers:
            name = '%s.%s.%d.json' % (case.name, case.variant, result.cnt())
            with open(os.path.join(opts.answers, name), 'w') as f:
                json.dump(doc, f, indent=1)
    return result


def evaluate(opts, todo, start):
    """Prints a block for each case and the line of the total; the exit status."""
    right = {'degraded': 0, 'healthy': 0}
    total = collections.Counter(variant for _, variant in todo)
    broken = 0
    if opts.answers:
        os.makedirs(opts.answers, exist_ok=True)
    for case_class, variant in todo:
        try:
            with labs.Lab('eval') as lab:
                case = start(case_class, lab, variant)
                time.sleep(case.warm_s)
                result = on_server(opts, case, opts.watch or WATCH_S)
            right[variant] += result.right(opts.runs)
            print('\n'.join(result.lines(opts.runs)), flush=True)
        except LabError as e:
            broken += 1
            print('%-20s %s harness: %s' % (case_class.name, variant, e), flush=True)
    if broken:
        print('%d could not be run' % broken)
    print('rare problems: %d of %d right; sound servers: %d of %d right' % (
        right['degraded'], total['degraded'], right['healthy'], total['healthy']))
    print('%d of %d right' % (sum(right.values()), len(todo)), flush=True)
    return 1 if broken or (opts.strict and sum(right.values()) < len(todo)) else 0
